// Measures how fast a device (a GPU, or all CPU threads of this process) multiplies matrices and reads memory: for the
// metric perf/mfu, `roll doctor` and `roll generate --bench`.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace roll {

/// Returns the FLOP/s of a large square matrix product in `dtype`: the best of a few, after a warm-up. Takes about 30
/// ms. Throws c10::Error if the device cannot be used or has no kernel for `dtype`.
double measure_matmul_peak(at::Device device, at::ScalarType dtype);

/// Repeats measure_matmul_peak() for `seconds`, at least once, and returns the best result.
double best_matmul_peak(at::Device device, at::ScalarType dtype, double seconds);

/// Returns the memory bandwidth in bytes per second, the best of several passes. On the CPU all threads read the same
/// `bytes` of memory again and again; on a GPU a copy reads one half of `bytes` and writes the other. Pass the size of
/// a model's weights: if it fits into a cache, the cache is measured, from which such weights are read. Sizes above 1
/// GiB count as 1 GiB.
double measure_read_bandwidth(at::Device device, int64_t bytes);

}  // namespace roll
