// How fast a device multiplies matrices and reads memory, measured instead of read from a table: what perf/mfu and
// `roll generate --bench` compare with.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace roll {

/// Floating-point operations per second of a large square product in `dtype`, the best of a few after a warm-up. Takes
/// some 0.03 s.
double measure_matmul_peak(at::Device device, at::ScalarType dtype);

/// The best of the measurements that fit into `seconds`, at least one.
double best_matmul_peak(at::Device device, at::ScalarType dtype, double seconds);

/// Bytes per second at which all threads (on a GPU: a copy, which reads and writes) go through `bytes` of memory again
/// and again, the best of some runs. A size that fits into a cache is read from there, as a model of that size would
/// be. At most 1 GiB is read, which no cache holds.
double measure_read_bandwidth(at::Device device, int64_t bytes);

}  // namespace roll
