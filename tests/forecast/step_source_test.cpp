#include "forecast/step_source.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "settings/load_config.h"

namespace roll {

namespace {

Config lakes(const std::string& manager) {
  return load_config(std::string(ROLL_SOURCE_DIR) + "/configs/frozen_lake_cpu.yaml",
                     {"custom_envs.FrozenLake.env_manager_cls=" + manager, "pretrain=Qwen/Qwen2.5-0.5B",
                      "custom_envs.FrozenLake.history_length=2", "rollout_batch_size=16",
                      "actor_train.training_args.train_batch_size=16", "actor_train.use_sequence_packing=false"},
                     {.offline = true})
      .config;
}

}  // namespace

TEST_CASE("turns with prompts of their own are assumed one by one, each as long as it may be said", "[preview]") {
  const Config config = lakes("StepEnvManager");
  const ThinStep step = assumed_step(config, {.mean = 3, .std = 2}, 1);
  REQUIRE(step.num_sequences() == 16);
  REQUIRE(std::ssize(step.turns) == 16);
  const int64_t prompt = config.prompt_length / 4;
  std::set<int64_t> lengths;
  for (int64_t s = 0; s < 16; ++s) {
    const std::vector<ThinTurn> turns = step.thin_turns(s);
    REQUIRE(std::ssize(turns) == config.agentic.custom_envs.at("FrozenLake").max_steps);
    int64_t all = 0;
    for (const ThinTurn& turn : turns) {
      CHECK(turn.num_cached == 0);
      CHECK(turn.num_prompt == prompt);
      CHECK((turn.num_sampled >= 1 &&
             turn.num_sampled <= config.agentic.custom_envs.at("FrozenLake").max_tokens_per_step));
      all += turn.num_prompt + turn.num_sampled;
      lengths.insert(turn.num_sampled);
    }
    CHECK(all == step.lengths()[s]);
    CHECK_FALSE(step.turns[s].front().is_fresh);
    CHECK(std::ranges::count_if(step.turns[s], &Turn::is_fresh) == std::ssize(turns) - 1);
  }
  CHECK(lengths.size() > 2);
  const ThinStep plain = assumed_step(lakes("TrajEnvManager"), {.mean = 3, .std = 2}, 1);
  CHECK(plain.turns.empty());
  CHECK(plain.thin_turns(0).size() == 1);
}

TEST_CASE("a turn of a trajectory sees what was before it, and one with a prompt of its own only that", "[preview]") {
  ThinStep step{
      .group_size = 1, .prompt_lengths = {10, 10}, .response_lengths = {12, 5}, .domain_of_group = {"a", "a"}};
  step.turns = {{{.num_tokens = 3, .num_environment_tokens = 2},
                 {.num_tokens = 1, .num_environment_tokens = 4},
                 {.num_tokens = 2, .is_fresh = true}},
                {}};
  const std::vector<ThinTurn> turns = step.thin_turns(0);
  REQUIRE(turns.size() == 3);
  CHECK((turns[0].num_cached == 0 && turns[0].num_prompt == 10 && turns[0].num_sampled == 3));
  CHECK((turns[1].num_cached == 13 && turns[1].num_prompt == 2 && turns[1].num_sampled == 1));
  CHECK((turns[2].num_cached == 0 && turns[2].num_prompt == 4 && turns[2].num_sampled == 2));
  REQUIRE(step.thin_turns(1).size() == 1);
  CHECK((step.thin_turns(1)[0].num_prompt == 10 && step.thin_turns(1)[0].num_sampled == 5));
}

}  // namespace roll
