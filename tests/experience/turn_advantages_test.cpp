#include "experience/turn_advantages.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "golden_maths.h"
#include "sample.h"

namespace roll {

namespace {

Experience golden_trajectories(const Json& golden) {
  std::vector<Sample> samples;
  for (size_t b = 0; b < golden["trajectories"].size(); ++b) {
    Sample sample{.prompt_ids = {1, 1}, .sequence_index = static_cast<int64_t>(b), .group_index = golden["groups"][b]};
    int32_t begin = 0;
    for (const Json& turn : golden["trajectories"][b]) {
      const int32_t end = begin + turn["tokens"].get<int32_t>();
      sample.turns.push_back({.begin = begin, .end = end, .state = turn["state"], .reward = turn["reward"]});
      begin = end + turn["environment_tokens"].get<int32_t>();
    }
    sample.response_ids.assign(static_cast<size_t>(begin), 2);
    samples.push_back(std::move(sample));
  }
  Experience step = make_experience(samples);
  step.token_rewards = at::zeros({step.tokens.num_tokens()});
  return step;
}

/// On the token axis: a turn's advantage at each of the model's tokens, 0 elsewhere.
at::Tensor on_tokens(const Experience& step, const Json& advantages) {
  at::Tensor all = at::zeros({step.tokens.num_tokens()});
  for (int64_t b = 0; b < step.num_sequences(); ++b)
    for (size_t k = 0; k < step.responses[b].turns.size(); ++k) {
      const int64_t response = step.tokens.cu_seqlens[b] + 1;  // behind a prompt of two, one index before the token
      const TurnFact& turn = step.responses[b].turns[k];
      all.slice(0, response + turn.begin, response + turn.end).fill_(advantages[b][k].get<double>());
    }
  return all;
}

}  // namespace

TEST_CASE("GiGPO counts a trajectory once in the paper's version, and once for each turn in ROLL's", "[experience]") {
  const Json golden = testing::golden_maths("turns");
  const Part part(golden_trajectories(golden));
  auto config = testing::config_from<ExperienceConfig>(golden["config"]);
  config.adv_estimator = "gigpo";
  CHECK(config.episode_statistics == EpisodeStatistics::kTurns);
  for (const auto& [name, advantages] : golden["advantages"].items()) {
    INFO(name);
    config.episode_statistics = named<EpisodeStatistics>(name, config.episode_statistics);
    const AdvantagesAndReturns result = gigpo(part, config);
    CHECK(testing::near(result.advantages, on_tokens(part.experience, advantages), 1e-6));
    CHECK(at::equal(result.returns, result.advantages));
  }
}

}  // namespace roll
