// How much of a device's memory a sampler's cache takes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/device.h"

namespace roll {

/// `share` of what the steps, which take `steps_bytes`, leave of unused memory: no more than finds a place there, for
/// the cache is one tensor, and none where that is too little for any. 0, which is no limit, where nobody knows what is
/// unused.
inline int64_t cache_bytes(const UnusedBytes& unused, int64_t steps_bytes, double share) {
  constexpr double kMostOfFree = 0.95;
  if (unused.all() == 0) return 0;
  const double left = share * static_cast<double>(unused.all() - steps_bytes);
  return std::max<int64_t>(1, static_cast<int64_t>(std::min(left, kMostOfFree * static_cast<double>(unused.free))));
}

}  // namespace roll
