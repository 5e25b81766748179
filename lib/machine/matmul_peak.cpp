#include "machine/matmul_peak.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/clock.h"

namespace roll {

double measure_matmul_peak(at::Device device, at::ScalarType dtype) {
  constexpr int kRuns = 3;  // the first one warms up
  const int64_t n = device.is_cpu() ? 768 : 8192;
  const auto options = at::TensorOptions().device(device).dtype(dtype);
  // Random: a GPU's power limit lets it multiply equal numbers faster than any that occur.
  const at::Tensor a = at::randn({n, n}, options), b = at::randn({n, n}, options);
  double peak = 0;
  for (int run = 0; run < kRuns; ++run) {
    const Stopwatch watch;
    at::mm(a, b)[0][0].item<float>();  // waits for the device
    const double size = static_cast<double>(n);
    if (run > 0) peak = std::max(peak, 2 * size * size * size / watch.seconds());
  }
  return peak;
}

double best_matmul_peak(at::Device device, at::ScalarType dtype, double seconds) {
  const Stopwatch watch;
  double best = 0;
  do best = std::max(best, measure_matmul_peak(device, dtype));
  while (watch.seconds() < seconds);
  return best;
}

}  // namespace roll
