// Computes the size of the sampler's KV cache on a GPU from the unused memory; used by engine.cpp.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/device.h"

namespace roll {

/// Returns the cache size in bytes: `share` x (unused.all() - steps_bytes), but at least 1 and at most 95 % of
/// unused.free. (The cache is one tensor, so it cannot use the gaps that unused.all() includes.) `share`: above 0, at
/// most 1. `steps_bytes`: memory that the sampler's steps need besides the cache. Returns 0 (no limit) if the unused
/// memory is unknown, as on the CPU.
inline int64_t cache_bytes(const UnusedBytes& unused, int64_t steps_bytes, double share) {
  constexpr double kMaxFreeShare = 0.95;
  if (unused.all() == 0) return 0;
  const double usable = share * static_cast<double>(unused.all() - steps_bytes);
  return std::max<int64_t>(1, static_cast<int64_t>(std::min(usable, kMaxFreeShare * static_cast<double>(unused.free))));
}

}  // namespace roll
