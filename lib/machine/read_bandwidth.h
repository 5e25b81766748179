// The other yardstick beside matmul_peak.h: how fast this device reads memory.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

namespace roll {

/// Bytes per second at which all threads (on a GPU: a copy, which reads and writes) go through so many bytes of memory
/// again and again, the best of some runs. What fits a cache comes from there, as it would for a model of that size;
/// beyond 1 GiB, where no cache reaches, 1 GiB stands for all.
double measure_read_bandwidth(at::Device device, int64_t bytes);

}  // namespace roll
