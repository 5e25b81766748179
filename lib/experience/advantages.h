// Advantages and returns over packed sequences: only response tokens take part, nothing crosses a sequence's end.
// One more estimator: its function and its row in advantages.cpp.
#pragma once

#include <ATen/core/Tensor.h>

#include "experience/config.h"
#include "experience/experience.h"

namespace roll {

struct AdvantagesAndReturns {
  at::Tensor advantages;  // [T] float32, 0 outside the response mask
  at::Tensor returns;     // likewise
};

/// GAE (Schulman et al. 2015): delta_t = r_t + gamma V_{t+1} - V_t, A_t = delta_t + gamma lambda A_{t+1}, R = A + V.
/// V after the last response token is 0, or, for truncated responses when `bootstrap_truncated`, the value that stands
/// at the sequence's last index. Reads token_rewards and values; runs in float64.
AdvantagesAndReturns gae(const Experience& experience, const ExperienceConfig& config);

/// Reverse discounted sum of the token rewards; advantages = returns. Also that of grpo, whose rewards are normalised.
AdvantagesAndReturns discounted_returns(const Experience& experience, const ExperienceConfig& config);

}  // namespace roll
