#include <algorithm>
#include <catch2/catch.hpp>

#include "error_of.h"
#include "settings/load_config.h"
#include "settings/recipe.h"

namespace roll {

TEST_CASE("a sampler alone reads weights of 8 or 4 bits, and its tokens are then weighed", "[train]") {
  const std::string dtype = GENERATE("int8", "int4");
  const std::string narrow = "actor_infer.model_args.dtype=" + dtype,
                    weighs = "train_infer_correction.is_weight.enabled";
  const auto load = [](const std::vector<std::string>& overrides) {
    return load_config(kRecipe, overrides, {.num_ranks = {}, .offline = true});
  };
  const auto enabled = [](const auto& found) {
    return found.config.experience.train_infer_correction.is_weight.enabled;
  };
  const auto found = load({narrow, "~train_infer_correction"});
  CHECK(enabled(found));
  CHECK_FALSE(enabled(load({"~train_infer_correction"})));
  CHECK(std::ranges::any_of(found.notes, [&](const auto& note) { return mentions(note, weighs + " = true"); }));
  CHECK_FALSE(enabled(load({narrow, weighs + "=false"})));
  for (const std::string role : {"actor_train", "reference", "critic"})
    CHECK(mentions(testing::error_of([&] { load({role + ".model_args.dtype=" + dtype}); }),
                   role + ".model_args.dtype = " + dtype + ": only a sampler"));
}

TEST_CASE("a sampler's dtype beside another one of the trainer is said to be idle", "[train]") {
  const auto notes = [](const std::vector<std::string>& overrides) {
    return load_config(kRecipe, overrides, {.num_ranks = {}, .offline = true}).notes;
  };
  const auto is_idle = [](const std::string& note) {
    return mentions(note, "actor_infer.model_args.dtype = fp32: has no effect");
  };
  const std::string sampler = "actor_infer.model_args.dtype=fp32";
  CHECK(std::ranges::any_of(notes({sampler, "actor_train.model_args.dtype=bf16"}), is_idle));
  CHECK(std::ranges::none_of(notes({sampler, "actor_train.model_args.dtype=fp32"}), is_idle));
}

}  // namespace roll
