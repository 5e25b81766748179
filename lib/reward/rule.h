// What the factory of a reward type takes, with forward declarations only, so that the registry (types.h) stays a light
// header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/names.h"
#include "config/keys.h"

namespace roll {

class RewardFunction;
class SharedByWorkers;

/// A type's default time limit and number of retries; a type with others has a member usual_patience().
struct Patience {
  double timeout_s = 10;
  int64_t max_retries = 0;
};

/// The arguments of a type without keys of its own.
struct NoRewardKeys {
  void fields(Keys&) {}
};

/// What numbers a type gives. Loose and strict grade choices inside and outside of \boxed (choice_rule.h).
enum class RewardScale { kSoft, kHard, kLoose, kStrict };
constexpr auto names_of(RewardScale) {
  return std::to_array<Named<RewardScale>>({{RewardScale::kSoft, "soft"},
                                            {RewardScale::kHard, "hard"},
                                            {RewardScale::kLoose, "loose"},
                                            {RewardScale::kStrict, "strict"}});
}

/// What every type is given beside its own arguments.
struct RuleContext {
  double timeout_s = 10;  // of one response
  std::string where;      // stands before a key in error messages: "rewards.math.", or "--" for flags
  std::shared_ptr<SharedByWorkers> shared;
  RewardScale scale = RewardScale::kSoft;
};

/// How the shared code of reward.h treats a type.
struct RewardTraits {
  bool grades_choices = false;    // takes reward_type loose and strict, and not hard
  double repetition_penalty = 0;  // where repetition_penalty.max_penalty is null
  bool wants_long_ones = false;   // response_length_penalty_coef is about short responses (shaped.cpp)
};

}  // namespace roll
