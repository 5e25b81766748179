#include "forecast/step_forecast.h"

#include <catch2/catch.hpp>

#include "forecast/scaled_config.h"
#include "settings/placement.h"

namespace roll {
namespace {

/// The 7B recipe on `num_ranks`, planned on `num_planned`; responses are all of one length.
std::vector<RankForecast> recipe_forecast(int64_t num_ranks, int64_t num_planned) {
  const ScaledConfig scaled({.text = read_config("configs/qwen2.5-7b_rlvr_8gpu.yaml", {})});
  SimulatedWorld world{
      .planned = scaled.at(num_planned).config,
      .requested = scaled.at(num_ranks).config,
      .models = {},
      .ranks = {
          .requested_rank = all_ranks(num_planned), .num_requested = num_ranks, .running = all_ranks(num_planned)}};
  ModelSpec spec;
  spec.vocab_size = 1000;
  spec.hidden_size = 64;
  spec.intermediate_size = 128;
  spec.num_layers = 2;
  spec.num_heads = 4;
  spec.num_kv_heads = 2;
  spec.head_dim = 16;
  world.models = {{"actor_train", spec}, {"critic", spec}};
  ThinStep step{.number = 6, .group_size = world.planned.num_return_sequences_in_group};
  step.prompt_lengths.assign(world.planned.sequences_per_step(), 10);
  step.response_lengths.assign(world.planned.sequences_per_step(), 20);
  step.domain_of_group.assign(world.planned.rollout_batch_size, "math_rule");
  return forecast_step(world, step);
}

/// Buckets of gradients are filled up to a multiple of the ranks that share them, which is less of a larger model, and
/// micro-batches of prompts that responses share to their alignment.
constexpr double kPadding = 0.002;

/// What sequences travel depends on who sampled them, and what texts say on numbers, which both differ; what is said of
/// each response grows with the responses, which are those of the planned ranks.
bool is_of_the_plan(const std::string& key) {
  return key.ends_with("all_to_all") || key.ends_with("gather_bytes") || key.ends_with("dp/all_reduce");
}

}  // namespace

TEST_CASE("a few ranks that stand for many send what these do", "[preview]") {
  const auto all = recipe_forecast(32, 32), some = recipe_forecast(32, 16);
  for (size_t rank = 0; rank < some.size(); ++rank) {
    REQUIRE(all[rank].traffic.moved.size() == some[rank].traffic.moved.size());
    for (const auto& [key, moved] : some[rank].traffic.moved) {
      CAPTURE(key, rank);
      REQUIRE(all[rank].traffic.moved.contains(key));
      if (is_of_the_plan(key)) continue;
      for (const auto direction : {&Moved::sent, &Moved::received}) {
        const Flow some_flow = moved.*direction, all_flow = all[rank].traffic.moved.at(key).*direction;
        CHECK(some_flow.bytes == Approx(all_flow.bytes).epsilon(kPadding));
        CHECK(some_flow.far_bytes == Approx(all_flow.far_bytes).epsilon(kPadding));
      }
    }
  }
}

TEST_CASE("roles that are apart are apart at any number of ranks", "[preview]") {
  std::vector<std::string> overrides = {"actor_infer.device_mapping=[6,7]", "rollout_batch_size=24"};
  for (const std::string role : {"actor_train", "critic", "reference"})
    overrides.push_back(role + ".device_mapping=list(range(0,6))");
  for (const std::string role : {"actor_train", "critic", "reference", "actor_infer"})
    overrides.push_back(role + ".strategy_args.strategy_config.tensor_model_parallel_size=1");
  for (const std::string role : {"actor_train", "critic"})
    overrides.push_back(role + ".training_args.train_batch_size=192");
  const ScaledConfig scaled({.text = read_config("configs/qwen2.5-7b_rlvr_8gpu.yaml", overrides)});
  const Config config = scaled.at(32).config;
  CHECK(config.actor_infer.ranks == std::vector<int>{24, 25, 26, 27, 28, 29, 30, 31});
  CHECK(config.actor_train.ranks.size() == 24);
  CHECK(config.rollout_batch_size == 96);
  CHECK(scaled.stand_in(8000, 512) == 512);
  CHECK(scaled.stand_in(8000, 4) == 8);  // no fewer than the roles are laid out on
  CHECK(scaled.stand_in(480, 512) == 480);
  // Rank 130 of 512 is the third of the third of eight parts.
  CHECK(scaled.scaled_rank(130, 512, 8000) == 2002);
}

}  // namespace roll
