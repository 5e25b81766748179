// Soft overlong punishment (DAPO, arXiv 2503.14476, section 3.4, equation 13): lowers the reward of responses near the
// length limit step by step, instead of all at once at truncation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "config/keys.h"

namespace roll {

/// Configuration keys below overlong_buffer, named as in verl.
struct OverlongBuffer {
  bool enable = false;         // false: no penalty
  std::optional<int64_t> len;  // tokens before response_length over which the penalty rises; must be set if enabled
  double penalty_factor = 1;   // penalty of a response of response_length tokens

  void fields(Keys& v) {
    v("enable", enable, "penalise responses of more than response_length - len tokens");
    v("len", len, "tokens before response_length over which the penalty rises from 0 to penalty_factor", token_range(),
      only_with(enable));
    v("penalty_factor", penalty_factor, "subtracted from the reward of a response of response_length tokens",
      within(0, 1'000'000), only_with(enable));
  }
};

/// Returns the number (<= 0) to add to the reward of a response of `num_tokens` tokens: 0 up to response_length -
/// buffer.len tokens, then linear down to -buffer.penalty_factor at response_length and above. buffer.len must be set.
inline double overlong_reward(const OverlongBuffer& buffer, int64_t num_tokens, int64_t response_length) {
  const int64_t excess = std::clamp<int64_t>(num_tokens - (response_length - *buffer.len), 0, *buffer.len);
  return -buffer.penalty_factor * static_cast<double>(excess) / static_cast<double>(*buffer.len);
}

}  // namespace roll
