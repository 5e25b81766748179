#include "settings/sampling_plan.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

/// As load_config() leaves it.
Config complete_config() {
  Config config;
  config.prompt_length = 20;
  config.val_prompt_length = 50;
  config.response_length = 100;
  config.sequence_length = 120;
  config.val_sequence_length = 130;
  config.num_return_sequences_in_group = 4;
  config.rollout_batch_size = 6;
  config.max_running_requests = 9;
  config.experience.adv_estimator = "grpo";
  config.actor_infer.generating_args.max_new_tokens = 100;
  config.validation.generating_args.max_new_tokens = 80;
  config.validation.generating_args.num_return_sequences = 3;
  config.rewards["math"].reward.query_filter_config.type = QueryFilter::kMean;
  config.rewards["words"];
  return config;
}

}  // namespace

TEST_CASE("a run's sampling is resolved from its keys", "[settings]") {
  Config config = complete_config();
  SamplingPlan plan = sampling_plan(config);
  CHECK(plan.training.max_new_tokens == 100);
  CHECK(plan.num_samples == 4);
  CHECK(plan.samples_per_prompt() == 4);
  CHECK(plan.sets.empty());
  CHECK(plan.most_prompts == 6);
  CHECK(plan.filters.at("math").type == QueryFilter::kMean);
  CHECK(plan.filters.at("words").type == QueryFilter::kNone);
  CHECK(plan.limits.num_slots == 9);
  CHECK(plan.limits.max_length == 120);
  CHECK(plan.limits.max_rows == EngineLimits().max_rows);
  CHECK(plan.limits.weight_bits == 0);

  SECTION("its weights may be of 8 or 4 bits") {
    config.actor_infer.model_args.dtype = Dtype::kInt8;
    CHECK(sampling_plan(config).limits.weight_bits == 8);
    config.actor_infer.model_args.dtype = Dtype::kInt4;
    CHECK(sampling_plan(config).limits.weight_bits == 4);
  }
  SECTION("a validation's rows may be longer") {
    config.validation.data_args.file_name = {"rows.jsonl"};
    plan = sampling_plan(config);
    CHECK(plan.limits.max_length == 130);
    REQUIRE(plan.sets.size() == 1);
    CHECK(plan.sets[0].name.empty());
    CHECK(plan.sets[0].sampling.max_new_tokens == 80);
    CHECK(plan.sets[0].num_samples == 3);
  }
  SECTION("the engine's keys") {
    StrategyConfig& engine = config.actor_infer.strategy_args.strategy_config;
    engine.max_num_batched_tokens = 64;
    engine.enable_prefix_caching = false;
    engine.block_size = 32;
    plan = sampling_plan(config);
    CHECK(plan.limits.max_rows == 64);
    CHECK_FALSE(plan.shares_prefill);
    CHECK(plan.cache.page_size == 32);
  }
  SECTION("ahead, and beyond what is lacked") {
    config.async_generation_ratio = 1.5;
    config.max_steps = 7;
    config.is_use_additional_prompts = true;
    config.max_additional_running_prompts = 2;
    plan = sampling_plan(config);
    CHECK(plan.steps_ahead == 1.5);
    CHECK(plan.last_step == 7);
    CHECK(plan.num_additional_prompts == 2);
    CHECK(plan.most_prompts == 8);
  }
}

}  // namespace roll
