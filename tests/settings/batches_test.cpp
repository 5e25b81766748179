#include "settings/batch_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>

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
    CHECK(std::ranges::none_of(checked.notes, [](const auto& note) { return mentions(note, "another run"); }));
  }
  overrides.push_back(train + "train_batch_size=null");
  const auto per_device = load_config(kRecipe, overrides, {.num_ranks = 2, .offline = true});
  CHECK(per_device.config.actor_train.mini_batch() == 16);
  const auto is_told = [](const auto& note) {
    return mentions(note, "an update has 16 sequences where one rank has 8") && mentions(note, "another run");
  };
  CHECK(std::ranges::count_if(per_device.notes, is_told) == 1);
}

}  // namespace roll
