// What response_length_penalty_coef weighs.
#pragma once

#include <algorithm>
#include <cstdint>

namespace roll {

/// The share of the longest response that was used.
inline double length_share(int64_t num_tokens, int64_t response_length) {
  return static_cast<double>(num_tokens) / static_cast<double>(std::max<int64_t>(1, response_length));
}

/// ROLL's for crossthinkqa, where thinking too little is the fault: 0.5 up to 100 tokens, from there on a straight line
/// to 0 at 400. (ROLL counts the padding of the batch as tokens, so there it is nearly always 0.)
inline double shortness(int64_t num_tokens) {
  constexpr int64_t kShort = 100, kLong = 400;
  const int64_t missing = std::clamp<int64_t>(kLong - num_tokens, 0, kLong - kShort);
  return 0.5 * static_cast<double>(missing) / static_cast<double>(kLong - kShort);
}

}  // namespace roll
