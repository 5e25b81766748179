#include "settings/config_change.h"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "error_of.h"

namespace roll {

namespace {

std::string changed(const std::string& before, const std::string& now) {
  std::string all;
  for (const ConfigChange& change : config_changes(before, "saved.yaml", now))
    all += fmt::format("{}: {} -> {}; ", change.key, change.before, change.now);
  return all;
}

}  // namespace

TEST_CASE("what changes the training is listed, where and how it runs is free", "[settings]") {
  CHECK(changed("a: 1\n", "a: 1\n").empty());
  CHECK(changed("seed: 1\ngamma: 1\n", "seed: 2\ngamma: 1\n") == "seed: 1 -> 2; ");
  CHECK(changed("actor_train: {training_args: {learning_rate: 0.1}}",
                "actor_train: {training_args: {learning_rate: 1}}") ==
        "actor_train.training_args.learning_rate: 0.1 -> 1; ");
  CHECK(changed("rewards: {a: {type: math_rule}}", "rewards: {b: {type: math_rule}}") ==
        "rewards.a.type: math_rule -> ; rewards.b.type:  -> math_rule; ");
  CHECK(changed("loss_mask_keys: [a, b]", "loss_mask_keys: [b, a]") == "loss_mask_keys: [a, b] -> [b, a]; ");
  CHECK(changed(
            "output_dir: a\nsave_steps: 1\nactor_train: {strategy_args: {strategy_config: {tensor_parallel_size: 1}}}",
            "output_dir: b\nsave_steps: 2\nactor_train: {strategy_args: {strategy_config: {tensor_parallel_size: 2}}}")
            .empty());
}

TEST_CASE("a key of one reward's type may be free, and so may one that is a text or true", "[settings]") {
  CHECK(changed("rewards: {a: {judge_api_url: x}}\nresume_from_checkpoint: false",
                "rewards: {a: {judge_api_url: y}}\nresume_from_checkpoint: true")
            .empty());
}

TEST_CASE("a key is free at its own place, not wherever its name occurs", "[settings]") {
  CHECK(changed("max_steps: 5\ncustom_envs: {maze: {max_steps: 5}}",
                "max_steps: 9\ncustom_envs: {maze: {max_steps: 9}}") == "custom_envs.maze.max_steps: 5 -> 9; ");
}

TEST_CASE("a run may go on longer, whatever its learning rate is cut to", "[settings]") {
  CHECK(changed("max_steps: 5\ntraining_args: {lr_scheduler_type: linear, warmup_ratio: 0.1}",
                "max_steps: 9\ntraining_args: {lr_scheduler_type: linear, warmup_ratio: 0.1}")
            .empty());
  CHECK(changed("num_train_epochs: 1", "num_train_epochs: 2").empty());
  CHECK(changed("rewards: {a: {world_size: 1}}\nenable_reference: false",
                "rewards: {a: {world_size: 4}}\nenable_reference: true")
            .empty());
}

TEST_CASE("a saved configuration that is no YAML is named", "[settings]") {
  CHECK_THAT(testing::error_of([] { changed("a: [", "a: 1"); }), Catch::StartsWith("saved.yaml:"));
}

}  // namespace roll
