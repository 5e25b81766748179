#include "machine/device_speed.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>

#include "base/clock.h"
#include "ops/products.h"
#include "ops/simd.h"
#include "ops/streamed_memory.h"

namespace roll {

namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;
constexpr int kMinRuns = 5;
constexpr double kMinTime_s = 0.3;

/// Sums integers, because each float addition would wait for the one before.
ROLL_SIMD uint32_t sum_words(const uint32_t* data, int64_t count) {
  uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += data[i];
  return sum;
}

template <class Pass>
double shortest_s(const Pass& pass) {
  const Stopwatch watch;
  double shortest = 0;
  for (int run = 0; run < kMinRuns || watch.seconds() < kMinTime_s; ++run) {
    const Stopwatch run_watch;
    pass();
    shortest = run == 0 ? run_watch.seconds() : std::min(shortest, run_watch.seconds());
  }
  return shortest;
}

double measure_on_cpu(int64_t bytes) {
  const int64_t count = std::max<int64_t>(bytes / 4, 1), threads = at::get_num_threads();
  StreamedMemory memory(StreamedMemory::room_for(4 * count));
  const at::Tensor numbers = memory.take({count}, at::kInt).zero_();
  const auto* data = reinterpret_cast<const uint32_t*>(numbers.const_data_ptr<int32_t>());
  std::atomic<uint32_t> sum = 0;  // used, so that the compiler keeps the reads
  const double seconds = shortest_s([&] {
    at::parallel_for(0, threads, 1, [&](int64_t begin, int64_t end) {
      const int64_t first = count * begin / threads, last = count * end / threads;
      sum += sum_words(data + first, last - first);
    });
  });
  return 4 * static_cast<double>(count) / seconds;
}

/// GPU operations per wait, since a wait takes about 0.03 ms.
constexpr int kOperationsPerWait = 16;

double measure_on_gpu(at::Device device, int64_t bytes) {
  const auto options = at::TensorOptions().device(device).dtype(at::kByte);
  // Random data, since zeros may be moved faster than real data.
  const at::Tensor from = at::empty({std::max<int64_t>(bytes / 2, 1)}, options).random_(), to = at::empty_like(from);
  const double seconds = shortest_s([&] {
    for (int i = 0; i < kOperationsPerWait; ++i) to.copy_(from);
    to[0].item<uint8_t>();  // waits for the device
  });
  return 2.0 * kOperationsPerWait * static_cast<double>(from.numel()) / seconds;
}

}  // namespace

double measure_matmul_peak(at::Device device, at::ScalarType dtype) {
  constexpr int kRuns = 3;  // the first one warms up
  const int64_t n = device.is_cpu() ? 768 : 8192, products = device.is_cpu() ? 1 : kOperationsPerWait / 4;
  const auto options = at::TensorOptions().device(device).dtype(dtype);
  // Random data: within its power limit, a GPU multiplies equal numbers faster than real ones.
  const at::Tensor a = at::randn({n, n}, options), b = at::randn({n, n}, options);
  double peak = 0;
  for (int run = 0; run < kRuns; ++run) {
    const Stopwatch watch;
    at::Tensor c;
    for (int64_t i = 0; i < products; ++i) c = matrix_product(a, b);
    c[0][0].item<float>();  // waits for the device
    const double flops = 2 * static_cast<double>(products * n * n * n);
    if (run > 0) peak = std::max(peak, flops / watch.seconds());
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

double measure_read_bandwidth(at::Device device, int64_t bytes) {
  const int64_t size = std::clamp<int64_t>(bytes, 1, kMaxBytes);
  return device.is_cpu() ? measure_on_cpu(size) : measure_on_gpu(device, size);
}

}  // namespace roll
