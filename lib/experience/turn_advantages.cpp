#include "experience/turn_advantages.h"

#include <ATen/ATen.h>

#include <cmath>
#include <map>
#include <tuple>

#include "base/error.h"

namespace roll {
namespace {

constexpr double kLeastDeviation = 1e-6;

/// Turns of all judged trajectories of the part, in order.
struct TurnTable {
  std::vector<int64_t> sequence;  // [turn] index of its sequence
  std::vector<char> is_first;     // [turn] 1 for its trajectory's first
  std::vector<double> returns;    // [turn] discounted over turns
  std::vector<double> rewards;    // [turn] reward of its trajectory
  std::vector<uint32_t> states;

  TurnTable(const StepFacts& step, double gamma) {
    for (int64_t b = 0; b < step.num_sequences(); ++b) {
      const ResponseFacts& response = step.responses[b];
      if (!response.is_judged) continue;
      if (response.turns.empty())
        throw user_error(
            "adv_estimator needs turns, and a response of group {} has none; replay trajectories of environments, or "
            "use grpo or reinforce",
            response.group);
      const size_t first_turn = returns.size();
      double trajectory_reward = 0, next_return = 0;
      for (const TurnFact& turn : response.turns) {
        trajectory_reward += turn.reward;
        sequence.push_back(b);
        states.push_back(turn.state);
      }
      rewards.resize(sequence.size(), trajectory_reward);
      is_first.resize(sequence.size());
      is_first[first_turn] = 1;
      returns.resize(sequence.size());
      for (size_t k = returns.size(); k-- > first_turn;)
        returns[k] = next_return = response.turns[k - first_turn].reward + gamma * next_return;
    }
  }
};

/// Normalises values by mean and deviation (n - 1) over values with the same key, or over all if the type is not
/// kGroup. Only `counted` values enter the statistics; null: all do.
template <class Key>
std::vector<double> normalised(const std::vector<double>& values, const std::vector<Key>& keys,
                               const Normalisation& types, const std::vector<char>* counted = nullptr) {
  std::map<Key, Moments> key_moments;
  Moments overall_moments;
  const auto moments = [&](size_t i, NormType type) -> Moments& {
    return type == NormType::kGroup ? key_moments[keys[i]] : overall_moments;
  };
  const auto for_each_counted = [&](auto&& f) {
    for (const NormType type : {NormType::kGroup, NormType::kBatch})
      for (size_t i = 0; i < values.size(); ++i)
        if (!counted || (*counted)[i]) f(moments(i, type), values[i]);
  };
  for_each_counted([](Moments& m, double x) {
    m.count += 1;
    m.mean += x;
  });
  overall_moments.mean /= std::max(1.0, overall_moments.count);
  for (auto& [key, m] : key_moments) m.mean /= m.count;
  for_each_counted([](Moments& m, double x) { m.squares += (x - m.mean) * (x - m.mean); });
  std::vector<double> result = values;
  for (size_t i = 0; i < values.size(); ++i) {
    if (types.mean) result[i] -= moments(i, *types.mean).mean;
    if (!types.deviation) continue;
    const Moments& m = moments(i, *types.deviation);
    const double deviation = m.count > 1 ? std::sqrt(m.squares / (m.count - 1)) : 0;
    result[i] = deviation > kLeastDeviation ? result[i] / (deviation + kLeastDeviation) : 0;
  }
  return result;
}

AdvantagesAndReturns on_turns(const Part& part, const TurnTable& turns, const std::vector<double>& values) {
  std::map<int64_t, size_t> first_turn;  // sequence -> its first turn
  for (size_t k = 0; k < turns.sequence.size(); ++k) first_turn.try_emplace(turns.sequence[k], k);
  at::Tensor advantages = at::zeros_like(part.experience.token_rewards);
  for (int64_t b = 0; b < part.experience.num_sequences(); ++b) {
    if (!part.experience.responses[b].is_judged) continue;
    size_t k = first_turn.at(part.global_index[b]);
    for (const auto& [begin, end] : model_spans(part.experience, b)) advantages.slice(0, begin, end).fill_(values[k++]);
  }
  return {advantages, advantages.clone()};
}

}  // namespace

AdvantagesAndReturns step_reinforce(const Part& part, const ExperienceConfig& config) {
  const TurnTable turns(part.facts, config.step_reward_gamma);
  return on_turns(part, turns,
                  normalised(turns.returns, picked(column(part.facts.responses, &ResponseFacts::group), turns.sequence),
                             config.normalisation()));
}

AdvantagesAndReturns gigpo(const Part& part, const ExperienceConfig& config) {
  const TurnTable turns(part.facts, config.step_reward_gamma);
  const std::vector<int64_t> groups = picked(column(part.facts.responses, &ResponseFacts::group), turns.sequence);
  std::vector<std::pair<int64_t, uint32_t>> states;
  for (size_t k = 0; k < groups.size(); ++k) states.emplace_back(groups[k], turns.states[k]);
  const Normalisation types = config.normalisation();
  const Normalisation state_types{.mean = types.mean ? std::optional(NormType::kGroup) : std::nullopt,
                                  .deviation = types.deviation ? std::optional(NormType::kGroup) : std::nullopt};
  const bool counts_turns = config.episode_statistics == EpisodeStatistics::kTurns;
  const std::vector<double> episodes =
      normalised(turns.rewards, groups, types, counts_turns ? nullptr : &turns.is_first);
  std::vector<double> values = normalised(turns.returns, states, state_types);
  for (size_t k = 0; k < values.size(); ++k)
    values[k] = config.episode_reward_weight * episodes[k] + config.step_reward_weight * values[k];
  return on_turns(part, turns, values);
}

}  // namespace roll
