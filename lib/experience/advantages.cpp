#include "experience/advantages.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace roll {
namespace {

/// Where a response stands on the token axis: [begin, end), and end is the sequence's last index.
struct TokenSpan {
  int64_t begin, end;
};

TokenSpan response_range(const Experience& experience, int64_t sequence) {
  const int64_t end = experience.tokens.cu_seqlens[sequence + 1] - 1;
  return {end - experience.response_lengths[sequence], end};
}

const float* floats(const at::Tensor& tensor, const Experience& experience, const char* why) {
  ROLL_CHECK(tensor.defined() && tensor.is_cpu() && tensor.is_contiguous() && tensor.scalar_type() == at::kFloat, why);
  ROLL_CHECK_EQ(tensor.numel(), experience.tokens.num_tokens(), why);
  return tensor.const_data_ptr<float>();
}

}  // namespace

AdvantagesAndReturns gae(const Experience& experience, const ExperienceConfig& config) {
  const float* reward = floats(experience.token_rewards, experience, "GAE reads token rewards");
  const float* value = floats(experience.values, experience, "GAE reads values");
  AdvantagesAndReturns result{at::zeros_like(experience.token_rewards), at::zeros_like(experience.token_rewards)};
  float* advantages = result.advantages.mutable_data_ptr<float>();
  float* returns = result.returns.mutable_data_ptr<float>();
  for (int64_t b = 0; b < experience.num_sequences(); ++b) {
    const TokenSpan response = response_range(experience, b);
    double next_value = config.bootstrap_truncated && experience.truncated[b] ? value[response.end] : 0;
    double advantage = 0;
    for (int64_t t = response.end - 1; t >= response.begin; --t) {
      const double delta = reward[t] + config.gamma * next_value - value[t];
      advantage = delta + config.gamma * config.lambd * advantage;
      next_value = value[t];
      advantages[t] = static_cast<float>(advantage);
      returns[t] = static_cast<float>(advantage + value[t]);
    }
  }
  return result;
}

AdvantagesAndReturns discounted_returns(const Experience& experience, const ExperienceConfig& config) {
  const float* reward = floats(experience.token_rewards, experience, "returns are sums of token rewards");
  at::Tensor returns = at::zeros_like(experience.token_rewards);
  float* out = returns.mutable_data_ptr<float>();
  for (int64_t b = 0; b < experience.num_sequences(); ++b) {
    const TokenSpan response = response_range(experience, b);
    double sum = 0;
    for (int64_t t = response.end - 1; t >= response.begin; --t) {
      sum = reward[t] + config.gamma * sum;
      out[t] = static_cast<float>(sum);
    }
  }
  return {returns.clone(), returns};
}

std::span<const AdvantageEstimator> rows_of(const AdvantageEstimator*) {
  static constexpr AdvantageEstimator kEstimators[] = {
      {.name = "gae", .needs_values = true, .compares_group = false, .compute = gae},
      {.name = "reinforce", .needs_values = false, .compares_group = false, .compute = discounted_returns},
      {.name = "grpo", .needs_values = false, .compares_group = true, .compute = discounted_returns},
  };
  return kEstimators;
}

}  // namespace roll
