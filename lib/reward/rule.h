// Arguments of the factories of reward types, with forward declarations only: types.h stays cheap to include.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/names.h"
#include "config/keys.h"

namespace roll {

class RewardFunction;
class SharedByWorkers;

/// Default time limit and number of retries; a type with other defaults has a member usual_patience().
struct Patience {
  double timeout_s = 10;
  int64_t max_retries = 0;
};

/// Arguments of a type without own keys.
struct NoRewardKeys {
  void fields(Keys&) {}
};

/// Scale of a type's rewards. kLoose and kStrict grade choices inside and outside of \boxed (choice_rule.h).
enum class RewardScale { kSoft, kHard, kLoose, kStrict };
constexpr auto enum_names(RewardScale) {
  return std::to_array<Named<RewardScale>>({{RewardScale::kSoft, "soft"},
                                            {RewardScale::kHard, "hard"},
                                            {RewardScale::kLoose, "loose"},
                                            {RewardScale::kStrict, "strict"}});
}

/// Arguments common to all types.
struct RuleContext {
  double timeout_s = 10;  // per response
  std::string where;      // prefix of keys in messages: "rewards.math.", or "--" for flags
  std::shared_ptr<SharedByWorkers> shared;
  RewardScale scale = RewardScale::kSoft;
};

/// Properties of a type for the shared code of reward.h.
struct RewardTraits {
  bool grades_choices = false;    // allows reward_type loose and strict, but not hard
  double repetition_penalty = 0;  // default if repetition_penalty.max_penalty is null
  bool wants_long_ones = false;   // response_length_penalty_coef penalises short responses (shaped.cpp)
};

}  // namespace roll
