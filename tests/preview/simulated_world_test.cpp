#include "preview/simulated_world.h"

#include <catch2/catch.hpp>

#include "preview/scaled_config.h"
#include "preview/step_forecast.h"
#include "settings/placement.h"

namespace roll {
namespace {

/// Every role on all of `num_ranks`, four to a host.
SimulatedWorld world_of(int64_t num_ranks) {
  SimulatedWorld world{.asked_rank = all_ranks(num_ranks), .num_asked = num_ranks, .ranks_per_host = 4};
  world.planned.actor_train.ranks = world.asked.actor_train.ranks = all_ranks(num_ranks);
  return world;
}

RoleView actor_of(const SimulatedWorld& world, const MeshShape& shape) {
  return {world, world.planned.actor_train, world.asked.actor_train, shape};
}

/// The 7B recipe on `num_ranks`, planned on `num_planned`; responses are all of one length.
std::map<std::string, std::vector<Moved>> recipe_traffic(int64_t num_ranks, int64_t num_planned) {
  const ScaledConfig scaled({.file = "configs/qwen2.5-7b_rlvr_8gpu.yaml"});
  SimulatedWorld world{.planned = scaled.at(num_planned).config,
                       .asked = scaled.at(num_ranks).config,
                       .asked_rank = all_ranks(num_planned),
                       .num_asked = num_ranks};
  ModelSpec spec;
  spec.vocab_size = 1000, spec.hidden_size = 64, spec.intermediate_size = 128, spec.num_layers = 2;
  spec.num_heads = 4, spec.num_kv_heads = 2, spec.head_dim = 16;
  world.models = {.policy = spec, .critic = spec};
  ThinStep step{.number = 6, .group_size = world.planned.num_return_sequences_in_group};
  step.prompt_lengths.assign(world.planned.sequences_per_step(), 100);
  step.response_lengths.assign(world.planned.sequences_per_step(), 900);
  step.domain_of_group.assign(world.planned.rollout_batch_size, "math_rule");
  return forecast_step(world, step).traffic.moved();
}

}  // namespace

TEST_CASE("a group's far members are those on other hosts", "[preview]") {
  const SimulatedWorld world = world_of(16);
  const RoleView role = actor_of(world, {.cp = 2, .tp = 2});
  CHECK(role.tp(5).far_share(Path::kHost) == 0);
  CHECK(role.tp(5).own.index == 1);
  CHECK(role.cp(5).far_share(Path::kHost) == 0);
  CHECK(role.dp(5).own.size == 4);
  CHECK(role.dp(5).own.index == 1);
  CHECK(role.dp(5).far_share(Path::kHost) == 1);
  CHECK(role.shards(5).own.size == 8);
  CHECK(role.shards(5).own.index == 2);
  CHECK(role.shards(5).far_share(Path::kHost) == Approx(6.0 / 7));  // of 7 others one is on the host
  CHECK(role.all(5).far_share(Path::kHost) == Approx(12.0 / 15));
  CHECK(world_group(world, 5).far_share(Path::kHost) == Approx(12.0 / 15));
}

TEST_CASE("a ring leaves each host once", "[preview]") {
  const SimulatedWorld world = world_of(16);
  const RoleView role = actor_of(world, {.cp = 1, .tp = 2});
  CHECK(role.all(5).far_share(Path::kDevice) == 0.25);
  CHECK(role.dp(5).far_share(Path::kDevice) == 0.5);
  CHECK(role.tp(5).far_share(Path::kDevice) == 0);
}

TEST_CASE("a host that is not full has fewer near ranks", "[preview]") {
  const SimulatedWorld world = world_of(6);
  CHECK(world_group(world, 5).far_share(Path::kHost) == Approx(4.0 / 5));
  CHECK(actor_of(world, {}).all(5).far_share(Path::kHost) == Approx(4.0 / 5));
  CHECK(world_group(world, 0).far_share(Path::kHost) == Approx(2.0 / 5));
}

TEST_CASE("a few ranks that stand for many send what these do", "[preview]") {
  const auto all = recipe_traffic(32, 32), some = recipe_traffic(32, 16);
  REQUIRE(all.size() == some.size());
  for (const auto& [key, of_rank] : some) {
    CAPTURE(key);
    REQUIRE(all.contains(key));
    // What sequences travel depends on who sampled them, which differs.
    for (size_t rank = 0; rank < of_rank.size() && !key.ends_with("all_to_all"); ++rank) {
      for (const auto direction : {&Moved::sent, &Moved::received}) {
        const Flow some_flow = of_rank[rank].*direction, all_flow = all.at(key)[rank].*direction;
        CHECK(some_flow.bytes == all_flow.bytes);
        CHECK(some_flow.far_bytes == Approx(all_flow.far_bytes));
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
  const ScaledConfig scaled({.file = "configs/qwen2.5-7b_rlvr_8gpu.yaml", .overrides = overrides});
  const Config config = scaled.at(32).config;
  CHECK(config.actor_infer.ranks == std::vector<int>{24, 25, 26, 27, 28, 29, 30, 31});
  CHECK(config.actor_train.ranks.size() == 24);
  CHECK(config.rollout_batch_size == 96);
  CHECK(scaled.stand_in(8000, 512) == 512);
  CHECK(scaled.stand_in(480, 512) == 480);
  // Rank 130 of 512 is the third of the third of eight parts.
  CHECK(scaled.rank_of(130, 512, 8000) == 2002);
}

}  // namespace roll
