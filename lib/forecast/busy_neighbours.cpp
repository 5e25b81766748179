#include "forecast/busy_neighbours.h"

namespace roll {

namespace {

constexpr size_t kNumbers = size_t{1} << 21;  // 8 MB: more than a core's caches

/// Reads, multiplies and writes memory until stopped.
void be_busy(const std::stop_token& stop) {
  std::vector<float> numbers(kNumbers, 1);
  while (!stop.stop_requested())
    for (float& x : numbers) x = x * 0.999F + 0.001F;
}

}  // namespace

BusyNeighbours::BusyNeighbours(int64_t count) {
  for (int64_t i = 0; i < count; ++i) threads_.emplace_back(be_busy);
}

}  // namespace roll
