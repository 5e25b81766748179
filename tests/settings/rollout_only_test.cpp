// What follows for roles, devices and memory where nothing is trained.
#include "settings/rollout_only.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "settings/load_config.h"
#include "settings/placement.h"
#include "settings/recipe.h"
#include "settings/step_cost.h"

namespace roll {

namespace {

const std::string kFrozenLake = std::string(ROLL_SOURCE_DIR) + "/configs/frozen_lake_cpu.yaml";

auto loaded_lake(std::vector<std::string> overrides) {
  overrides.emplace_back("pretrain=Qwen/Qwen2.5-0.5B");
  return load_config(kFrozenLake, overrides, {.offline = true});
}

}  // namespace

TEST_CASE("a run that only samples has its sampler's devices and tensor ranks, and no role of training", "[train]") {
  const auto checked =
      loaded_lake({"rollout_only=true", "actor_train.device_mapping=[0,1,2,3]", "actor_infer.device_mapping=[4,5]",
                   "critic.device_mapping=[6]", "adv_estimator=gae", "enable_reference=true",
                   "async_generation_ratio=1", "actor_infer.strategy_args.strategy_config.tensor_parallel_size=2"});
  const Config& config = checked.config;
  CHECK(checked.num_ranks == 2);
  REQUIRE(placed_roles(config).size() == 1);
  CHECK(placed_roles(config)[0].name == "actor_infer");
  CHECK(config.actor_train.ranks == std::vector{0, 1});
  CHECK(mesh_shape(config.actor_train).tp == 2);
  CHECK_FALSE(config.uses_critic());
  CHECK_FALSE(config.uses_reference());
  CHECK_FALSE(config.samples_ahead());
  CHECK(shares_weights(config));
  const auto elsewhere = loaded_lake({"rollout_only=true", "actor_train.device_mapping=[0,1]"});
  CHECK(elsewhere.num_ranks == 2);  // where the training would sample, too
}

TEST_CASE("memory and work of a run that only samples are the sampler's", "[train]") {
  const auto trains = loaded_lake({}), samples = loaded_lake({"rollout_only=true"});
  const MemoryEstimate with = estimate_memory(trains.config, *trains.models, /*on_gpu=*/true, 0);
  const MemoryEstimate without = estimate_memory(samples.config, *samples.models, /*on_gpu=*/true, 0);
  CHECK(without.weights == Approx(with.weights));  // whose sampler reads the trainer's
  CHECK(without.kv_cache == with.kv_cache);
  CHECK(with.optimizer > 0);
  CHECK(without.gradients + without.optimizer + without.activations + without.checkpoint == 0);
  const StepCost cost = step_cost(samples.config, *samples.models);
  CHECK(cost.sampling == step_cost(trains.config, *trains.models).sampling);
  CHECK(cost.total() == cost.sampling);
}

TEST_CASE("numbers of the policy are the trainer's where there is one, else the sampler's", "[train]") {
  CHECK(loaded_lake({"rollout_only=true", "actor_infer.model_args.dtype=bf16"}).config.actor_train.model_args.dtype ==
        Dtype::kFp32);
  const std::string alone =
      "{pretrain: Qwen/Qwen2.5-0.5B, sequence_length: 256, rollout_batch_size: 4, custom_envs: {Lake: {env_type: "
      "frozen_lake}}, train_env_manager: {tags: [Lake]}, actor_infer: {model_args: {dtype: bf16}}}";
  const auto checked = load_config_text(alone, "alone.yaml", {}, {.offline = true});
  CHECK_FALSE(checked.config.trains());
  CHECK(checked.config.actor_train.model_args.dtype == Dtype::kBf16);
}

TEST_CASE("filters of prompts need groups, whatever is trained", "[train]") {
  CHECK_THAT(
      test::message_of([] {
        loaded_lake({"rollout_only=true", "train_env_manager.group_size=1",
                     "rewards.FrozenLake.query_filter_config={type: std_filter, filter_args: {std_threshold: 0}}"});
      }),
      Catch::Contains("compares the responses of one prompt"));
  CHECK(loaded_lake({"rollout_only=true", "train_env_manager.group_size=1"}).config.sequences_per_step() > 0);
}

}  // namespace roll
