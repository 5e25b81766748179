// Measures how fast a device (a GPU, or all CPU threads of this process) multiplies matrices and reads memory: for the
// metric perf/mfu, `roll doctor` and `roll generate --bench`.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace roll {

/// Returns the FLOP/s of a large square matrix product in `dtype`: the best of a few, after a warm-up. Takes about 30
/// ms.
double measure_matmul_peak(at::Device device, at::ScalarType dtype);

/// Repeats measure_matmul_peak() for `seconds`, at least once, and returns the best result.
double best_matmul_peak(at::Device device, at::ScalarType dtype, double seconds);

/// Returns the bytes per second at which all CPU threads read the same `bytes` of memory again and again, the best of
/// some passes; on a GPU, at which a copy reads and writes. Pass the size of a model's weights: a size that fits into a
/// cache is read from the cache, as those weights would be. Larger sizes than 1 GiB are measured with 1 GiB.
double measure_read_bandwidth(at::Device device, int64_t bytes);

}  // namespace roll
