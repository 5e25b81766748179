#include "experience/advantages.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "experience/rewards.h"
#include "experience/turn_advantages.h"

namespace roll {
namespace {

/// Calls f(t) for each sampled token of a response, last one first; skips the environment's tokens.
template <class F>
void backwards(const Experience& experience, int64_t sequence, F&& f) {
  const std::vector<TokenSpan> spans = model_spans(experience, sequence);
  for (auto span = spans.rbegin(); span != spans.rend(); ++span)
    for (int64_t t = span->end - 1; t >= span->begin; --t) f(t);
}

const float* floats(const at::Tensor& tensor, const Experience& experience, const char* why) {
  ROLL_CHECK(tensor.defined() && tensor.is_cpu() && tensor.is_contiguous() && tensor.scalar_type() == at::kFloat, why);
  ROLL_CHECK_EQ(tensor.numel(), experience.tokens.num_tokens(), why);
  return tensor.const_data_ptr<float>();
}

double policy_lambda(const ExperienceConfig& config, int64_t response_length) {
  if (!config.lambd_alpha) return config.lambd;
  return std::max(0.0, 1 - 1 / (*config.lambd_alpha * static_cast<double>(response_length)));
}

/// Returns of all ranks' responses and their groups' moments; each response is one action.
struct Bandit {
  std::vector<double> returns;  // [B]
  std::vector<Moments> groups;

  explicit Bandit(const Part& part) {
    const at::Tensor sums = response_sums(part.experience, part.experience.token_rewards);
    returns = part.all_gather({sums.const_data_ptr<double>(), sums.const_data_ptr<double>() + sums.numel()});
    groups = compute_moments(returns, part.facts);
  }
  static std::vector<Moments> compute_moments(const std::vector<double>& values, const StepFacts& step) {
    int64_t num_groups = 0;
    for (const ResponseFacts& response : step.responses) num_groups = std::max(num_groups, response.group + 1);
    return group_moments(values, step, num_groups);
  }
};

/// Sets all tokens of each judged response on this rank to f(its index in the part).
template <class F>
AdvantagesAndReturns on_responses(const Part& part, F&& f) {
  at::Tensor advantages = at::zeros_like(part.experience.token_rewards);
  for (int64_t b = 0; b < part.experience.num_sequences(); ++b)
    if (part.experience.responses[b].is_judged) {
      const auto advantage = f(part.global_index[b]);
      for (const auto& [begin, end] : model_spans(part.experience, b)) advantages.slice(0, begin, end).fill_(advantage);
    }
  return {advantages, advantages.clone()};
}

/// Returns for each group how many tokens at least two judged responses reach.
std::map<int64_t, int64_t> second_lengths(const StepFacts& step) {
  std::map<int64_t, int64_t> longest, second;
  for (const ResponseFacts& response : step.responses) {
    int64_t &most = longest[response.group], &next = second[response.group];
    const int64_t length = response.is_judged ? response.response_length : 0;
    next = std::max(next, std::min(most, length));
    most = std::max(most, length);
  }
  return second;
}

}  // namespace

AdvantagesAndReturns gae(const Experience& experience, const ExperienceConfig& config) {
  const float* reward = floats(experience.token_rewards, experience, "GAE reads token rewards");
  const float* value = floats(experience.values, experience, "GAE reads values");
  AdvantagesAndReturns result{at::zeros_like(experience.token_rewards), at::zeros_like(experience.token_rewards)};
  float* advantages = result.advantages.mutable_data_ptr<float>();
  float* returns = result.returns.mutable_data_ptr<float>();
  for (int64_t b = 0; b < experience.num_sequences(); ++b) {
    const int64_t last = experience.tokens.cu_seqlens[b + 1] - 1;
    double next_value = config.bootstrap_truncated && experience.responses[b].is_truncated ? value[last] : 0;
    const double lambda = policy_lambda(config, experience.responses[b].num_model_tokens());
    const double critic_lambda = config.lambd_critic.value_or(config.lambd);
    double advantage = 0, critic_advantage = 0;
    backwards(experience, b, [&](int64_t t) {
      const double delta = reward[t] + config.gamma * next_value - value[t];
      advantage = delta + config.gamma * lambda * advantage;
      critic_advantage = delta + config.gamma * critic_lambda * critic_advantage;
      next_value = value[t];
      advantages[t] = static_cast<float>(advantage);
      returns[t] = static_cast<float>(critic_advantage + value[t]);
    });
  }
  return result;
}

AdvantagesAndReturns discounted_returns(const Experience& experience, const ExperienceConfig& config) {
  const float* reward = floats(experience.token_rewards, experience, "returns are sums of token rewards");
  at::Tensor returns = at::zeros_like(experience.token_rewards);
  float* out = returns.mutable_data_ptr<float>();
  for (int64_t b = 0; b < experience.num_sequences(); ++b) {
    double sum = 0;
    backwards(experience, b, [&](int64_t t) {
      sum = reward[t] + config.gamma * sum;
      out[t] = static_cast<float>(sum);
    });
  }
  return {returns.clone(), returns};
}

AdvantagesAndReturns optimal_token_baseline(const Part& part, const ExperienceConfig& config,
                                            bool omits_tail_baseline) {
  const Experience& e = part.experience;
  floats(e.energies, e, "the baseline weighs by energies");
  AdvantagesAndReturns result = discounted_returns(e, config);
  std::map<int64_t, int64_t> begins;  // group -> index of its first token in `sums`
  for (const ResponseFacts& response : part.facts.responses) {
    int64_t& longest = begins[response.group];
    longest = std::max(longest, response.response_length);
  }
  int64_t num_tokens = 0;
  for (auto& [group, count] : begins) num_tokens += std::exchange(count, num_tokens);

  at::Tensor sums = at::zeros({2, num_tokens}, at::kDouble);
  const auto group_tokens = [&](const at::Tensor& tokens, int64_t b) {
    return tokens.narrow(-1, begins.at(e.group_index[b]), e.responses[b].response_length);
  };
  for (int64_t b = 0; b < e.num_sequences(); ++b) {
    if (!e.responses[b].is_judged) continue;
    at::Tensor weights = response_part(e, e.energies, b).to(at::kDouble);
    if (e.is_weights.defined()) weights = weights * response_part(e, e.is_weights, b).square();
    weights = weights.cumsum(0);
    group_tokens(sums, b).add_(at::stack({weights * response_part(e, result.returns, b), weights}));
  }
  part.ranks.all_reduce_sum(sums, "weighed returns of each group's tokens");
  const at::Tensor baselines = sums[0] / (sums[1] + 1e-8);
  const std::map<int64_t, int64_t> shared =
      omits_tail_baseline ? second_lengths(part.facts) : std::map<int64_t, int64_t>{};
  for (int64_t b = 0; b < e.num_sequences(); ++b) {
    const int64_t length = e.responses[b].response_length;
    const int64_t num_tokens = omits_tail_baseline ? std::min(length, shared.at(e.group_index[b])) : length;
    response_part(e, result.advantages, b)
        .narrow(0, 0, num_tokens)
        .sub_(group_tokens(baselines, b).narrow(0, 0, num_tokens));
  }
  return result;
}

AdvantagesAndReturns leave_one_out(const Part& part, const ExperienceConfig&) {
  const Bandit bandit(part);
  return on_responses(part, [&](int64_t b) {
    const Moments& group = bandit.groups[part.facts.responses[b].group];
    if (group.count < 2) return 0.0;
    const double others_mean = (group.mean * group.count - bandit.returns[b]) / (group.count - 1);
    return bandit.returns[b] - others_mean;
  });
}

AdvantagesAndReturns length_weighted_baseline(const Part& part, const ExperienceConfig&) {
  const Bandit bandit(part);
  std::vector<double> lengths;
  for (const ResponseFacts& response : part.facts.responses)
    lengths.push_back(static_cast<double>(response.num_model_tokens()));
  std::vector<double> weighted(lengths.size());
  for (size_t b = 0; b < lengths.size(); ++b) weighted[b] = lengths[b] * bandit.returns[b];
  const auto length = Bandit::compute_moments(lengths, part.facts),
             product = Bandit::compute_moments(weighted, part.facts);
  return on_responses(part, [&](int64_t b) {
    const int64_t group = part.facts.responses[b].group;
    return bandit.returns[b] - product[group].mean / length[group].mean;
  });
}

AdvantagesAndReturns group_policy_gradient(const Part& part, const ExperienceConfig&, bool counts_rewards) {
  const Bandit bandit(part);
  const auto local_tokens =
      tokens_per_sequence(part.experience.final_response_mask(), part.experience.tokens.cu_seqlens);
  const std::vector<double> tokens = part.all_gather({local_tokens.begin(), local_tokens.end()});
  double num_responses = 0, num_useful = 0;
  for (size_t b = 0; b < tokens.size(); ++b) {
    if (tokens[b] == 0) continue;
    num_responses += 1;
    if (counts_rewards) {
      num_useful += bandit.returns[b] != 0;
      continue;
    }
    // Exact: the float64 mean of equal float32 returns is that number.
    num_useful += bandit.groups[part.facts.responses[b].group].squares > 0;
  }
  if (counts_rewards) num_useful = std::max(num_useful, 1.0);
  const double alpha = num_useful > 0 ? num_responses / num_useful : 0;
  return on_responses(
      part, [&](int64_t b) { return alpha * (bandit.returns[b] - bandit.groups[part.facts.responses[b].group].mean); });
}

namespace {

/// Adapts an estimator that handles one response at a time.
template <AdvantagesAndReturns (*estimate)(const Experience&, const ExperienceConfig&)>
AdvantagesAndReturns each_response(const Part& part, const ExperienceConfig& config) {
  return estimate(part.experience, config);
}

/// Adapts an estimator that has a variant for verl.
template <AdvantagesAndReturns (*estimate)(const Part&, const ExperienceConfig&, bool), bool is_verl>
AdvantagesAndReturns with_rule(const Part& part, const ExperienceConfig& config) {
  return estimate(part, config, is_verl);
}

}  // namespace

std::span<const AdvantageEstimator> registry(const AdvantageEstimator*) {
  constexpr auto kGroup = NormType::kGroup;
  static constexpr AdvantageEstimator kEstimators[] = {
      {.name = "gae", .needs_values = true, .compute = each_response<gae>},
      {.name = "reinforce", .compute = each_response<discounted_returns>},
      {.name = "grpo",
       .compares_group = true,
       .normalisation = {kGroup, kGroup},
       .compute = each_response<discounted_returns>},
      {.name = "gdpo",
       .separates_rewards = true,
       .compares_group = true,
       .normalisation = {kGroup, kGroup},
       .compute = each_response<discounted_returns>},
      {.name = "gdpo_verl",
       .separates_rewards = true,
       .compares_group = true,
       .whitens = true,
       .normalisation = {kGroup, kGroup},
       .compute = each_response<discounted_returns>},
      {.name = "reinforce_plus_plus", .whitens = true, .compute = each_response<discounted_returns>},
      {.name = "reinforce_plus_plus_baseline",
       .compares_group = true,
       .whitens = true,
       .normalisation = {.mean = kGroup, .deviation = {}},
       .compute = each_response<discounted_returns>},
      {.name = "remax", .samples_baseline = true, .compute = each_response<discounted_returns>},
      {.name = "optimal_token_baseline",
       .reads_energies = true,
       .compares_group = true,
       .compute = with_rule<optimal_token_baseline, false>},
      {.name = "optimal_token_baseline_verl",
       .reads_energies = true,
       .compares_group = true,
       .compute = with_rule<optimal_token_baseline, true>},
      {.name = "step_reinforce", .weighs_turns = true, .discounts = false, .compute = step_reinforce},
      {.name = "gigpo",
       .compares_group = true,
       .weighs_turns = true,
       .discounts = false,
       .normalisation = {kGroup, kGroup},
       .compute = gigpo},
      {.name = "rloo", .compares_group = true, .discounts = false, .compute = leave_one_out},
      {.name = "opo", .compares_group = true, .discounts = false, .compute = length_weighted_baseline},
      {.name = "gpg", .compares_group = true, .discounts = false, .compute = with_rule<group_policy_gradient, false>},
      {.name = "gpg_verl",
       .compares_group = true,
       .discounts = false,
       .compute = with_rule<group_policy_gradient, true>},
  };
  return kEstimators;
}

}  // namespace roll
