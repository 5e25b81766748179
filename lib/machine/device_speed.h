// Measures how fast a device multiplies matrices and reads memory, for perf/mfu and `roll generate --bench`.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace roll {

/// Returns the FLOP/s of a large square GEMM in `dtype`, the best of a few after a warm-up. Takes about 0.03 s.
double measure_matmul_peak(at::Device device, at::ScalarType dtype);

/// Returns the best of the measurements that fit into `seconds`, at least one.
double best_matmul_peak(at::Device device, at::ScalarType dtype, double seconds);

/// Returns the bytes per second at which all threads read `bytes` of memory repeatedly (GPU: a copy, which reads and
/// writes), the best of some runs. A size that fits into a cache is read from there, like a model of that size. At most
/// 1 GiB is read, which no cache holds.
double measure_read_bandwidth(at::Device device, int64_t bytes);

}  // namespace roll
