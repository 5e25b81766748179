#include "settings/batch_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.h"
#include "settings/load_config.h"
#include "settings/recipe.h"

namespace roll {

TEST_CASE("a mini-batch of the world is the same on any number of ranks", "[train]") {
  const std::string train = "actor_train.training_args.", critic = "critic.training_args.";
  std::vector<std::string> overrides;
  for (const std::string& role : {train, critic})
    for (const char* value : {"train_batch_size=64", "per_device_train_batch_size=8", "gradient_accumulation_steps=1"})
      overrides.push_back(role + value);
  for (const char* role : {"actor_train", "actor_infer", "reference", "critic"})
    overrides.push_back(std::string(role) + ".device_mapping=null");
  for (const int64_t ranks : {1, 2, 4, 16}) {
    INFO(ranks);
    const auto checked = load_config(kRecipe, overrides, {.num_ranks = ranks, .offline = true});
    const WorkerConfig& worker = checked.config.actor_train;
    CHECK(worker.mini_batch() == 64);
    CHECK(worker.mini_batch_per_rank() == 64 / ranks);
    CHECK(worker.micro_batch() == std::min<int64_t>(8, 64 / ranks));
    CHECK(updates_per_step(checked.config, checked.config.critic) == 16);
    CHECK(std::ranges::none_of(checked.notes,
                               [](const auto& note) { return mentions(note, "which changes the result"); }));
  }
  overrides.push_back(train + "train_batch_size=null");
  const auto per_device = load_config(kRecipe, overrides, {.num_ranks = 2, .offline = true});
  CHECK(per_device.config.actor_train.mini_batch() == 16);
  const auto is_told = [](const auto& note) {
    return mentions(note, "an update has 16 sequences instead of the 8 of one rank") &&
           mentions(note, "which changes the result");
  };
  CHECK(std::ranges::count_if(per_device.notes, is_told) == 1);
}

TEST_CASE("passes over the rows are steps, where max_steps does not decide", "[train]") {
  const auto load = [](std::vector<std::string> overrides) {
    return load_config(kRecipe, overrides, {.offline = true});
  };
  const auto passes = load({"max_steps=null", "num_train_epochs=3"});
  const int64_t prompts = passes.config.prompts_per_step();
  CHECK(count_steps(passes.config, 10 * prompts + 1) == 30);
  CHECK(count_steps(passes.config, prompts / 2) == 1);
  CHECK_THROWS_WITH(count_steps(passes.config, prompts / 4), Catch::Contains("are fewer than a step"));
  CHECK(mentions(passes.plan, "3 passes over the rows"));
  CHECK(mentions(resolved_yaml(passes.config), "max_steps: null\nnum_train_epochs: 3\n"));
  CHECK(count_steps(load({"max_steps=7"}).config, 1) == 7);
  CHECK_THROWS_WITH(load({"max_steps=7", "num_train_epochs=3"}),
                    Catch::Contains("max_steps = 7 takes precedence, unless"));
  CHECK_THROWS_WITH(load({"max_steps=null"}), Catch::Contains("max_steps: missing"));
  CHECK_THROWS_WITH(load({"max_steps=null", "num_train_epochs=3", "rollout_replay=/tmp"}),
                    Catch::Contains("rollout_replay reads no rows"));
}

TEST_CASE("a schedule takes its own arguments, and is told by its keys where it has others", "[train]") {
  const auto with = [](const std::string& type, const std::string& args, const std::string& role = "actor_train") {
    const std::string train = role + ".training_args.";
    return std::vector<std::string>{train + "lr_scheduler_type=" + type, train + "lr_scheduler_kwargs=" + args};
  };
  const auto error_of = [](const std::vector<std::string>& overrides) {
    try {
      load_config(kRecipe, overrides, {.offline = true});
      return std::string();
    } catch (const UserError& e) {
      return std::string(e.what());
    }
  };
  struct Wrong {
    std::vector<std::string> overrides;
    std::string message;
  };
  const std::vector<Wrong> all = {
      {with("cosine", "{min_lr: 0}"), "min_lr: lr_scheduler_type = cosine takes num_cycles; remove it"},
      {with("linear", "{power: 2}"), "power: lr_scheduler_type = linear takes no arguments"},
      {with("cosine", "{min_lt: 0}"), "did you mean 'min_lr'"},
      {with("cosine", "{num_cycles: 0}"), "must be above 0"},
      {with("reduce_lr_on_plateau", "{}"), "must be one of linear, cosine, cosine_with_restarts"},
      {with("warmup_stable_decay", "{}"), "warmup_stable_decay needs num_decay_steps"},
      {with("warmup_stable_decay", "{num_decay_steps: 2, decay_type: sqrt}"), "must be one of linear, cosine, 1-sqrt"},
      {with("cosine_with_min_lr", "{}"), "needs one of min_lr and min_lr_rate; set one"},
      {with("cosine_with_min_lr", "{min_lr: 0, min_lr_rate: 0}"), "keep one of the two"},
      {with("cosine_warmup_with_min_lr", "{min_lr: 1}"), "min_lr = 1: must be at most learning_rate = 1e-06"},
      {with("polynomial", "{lr_end: 1e-6}"), "lr_end = 1e-06: must be below learning_rate = 1e-06"},
      {{"actor_train.training_args.lr_scheduler_type=polynomial", "actor_train.training_args.learning_rate=1e-7"},
       "lr_scheduler_kwargs: lr_end = 1e-07 (the default): must be below learning_rate = 1e-07"},
      {with("polynomial", "{lr_end: 0.1}", "critic"), "critic.training_args.lr_scheduler_kwargs: lr_end = 0.1"}};
  for (const Wrong& wrong : all) {
    INFO(wrong.overrides.back() << ": " << error_of(wrong.overrides));
    CHECK(mentions(error_of(wrong.overrides), wrong.message));
  }
  for (const char* none : {"null", "{}", "{num_cycles: null}"}) CHECK(error_of(with("cosine", none)).empty());
}

}  // namespace roll
