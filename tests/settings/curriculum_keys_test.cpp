#include <algorithm>
#include <catch2/catch.hpp>

#include "settings/recipe.h"

namespace roll {

TEST_CASE("curricula that cannot be are refused at their keys", "[train]") {
  struct Rule {
    std::vector<std::string> overrides;
    std::string message;
  };
  const std::string schedule = "actor_train.data_args.domain_interleave_schedule=";
  const Rule rules[] = {
      {{"actor_train.data_args.sampler=pass_rates"}, "did you mean 'pass_rate'"},
      {{"actor_train.data_args.sampler_floor=0"}, "sampler_floor = 0: must be in 0.01..1"},
      {{"validation.data_args.sampler=difficulty"}, "belongs to actor_train.data_args"},
      {{"validation.data_args.domain_interleave_schedule=[{step: 2, probs: {math_rule: 1}}]"},
       "belongs to actor_train.data_args"},
      {{"~actor_train.data_args.domain_interleave_probs", schedule + "[{step: 2, probs: {math_rule: 1}}]"},
       "needs the shares of step 1; set actor_train.data_args.domain_interleave_probs"},
      {{schedule + "[{step: 1, probs: {math_rule: 1}}]"}, "rise, from 2 on, but this one follows step 1"},
      {{schedule + "[{step: 9, probs: {math_rule: 1}}, {step: 9, probs: {math_rule: 1}}]"}, "follows step 9"},
      {{schedule + "[{step: 9, probs: {math_rule: 0.75}}]"}, "the shares sum to 0.75; they must sum to 1"},
      {{schedule + "[{step: 9, probs: {math_rul: 1}}]"}, "the domain math_rul has no reward"},
      {{schedule + "[{stop: 9, probs: {math_rule: 1}}]"}, "did you mean"},
  };
  for (const Rule& rule : rules) {
    const std::string message = error_of(rule.overrides);
    CAPTURE(rule.overrides, message);
    CHECK(mentions(message, rule.message));
  }
}

TEST_CASE("a floor does nothing without the sampler that has it", "[train]") {
  CHECK(mentions(error_of({"actor_train.data_args.sampler_floor=0.2"}),
                 "sampler_floor = 0.2 has no effect, because of actor_train.data_args.sampler = shuffled"));
}

TEST_CASE("W&B's name in track_with adds to what it has always meant", "[train]") {
  using enum TrackerKind;
  const auto kinds = [](const std::string& names) { return recipe({"track_with=" + names}).config.track.track_with; };
  CHECK(kinds("wandb") == std::vector{kWandb, kStdout, kJsonl, kTensorboard});
  CHECK(kinds("[csv, wandb, stdout]") == std::vector{kCsv, kWandb, kStdout, kJsonl, kTensorboard});
  CHECK(kinds("swanlab") == std::vector{kStdout, kJsonl, kTensorboard});
  CHECK(kinds("[stdout, csv]") == std::vector{kStdout, kCsv});
}

}  // namespace roll
