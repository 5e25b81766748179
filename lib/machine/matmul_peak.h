// The yardstick of perf/mfu: how fast this device multiplies matrices, measured instead of read from a table.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

namespace roll {

/// Floating-point operations per second of a large square product in `dtype`, the best of a few after a warm-up. Takes
/// some 0.03 s.
double measure_matmul_peak(at::Device device, at::ScalarType dtype);
/// The best of as many as take so long.
double best_matmul_peak(at::Device device, at::ScalarType dtype, double seconds);

}  // namespace roll
