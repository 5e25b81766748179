// Types that all reward types use: the arguments of their factories (types.h lists these), default limits and traits.
// Declares classes without defining them, so that types.h stays cheap to include.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/names.h"
#include "config/keys.h"

namespace roll {

class RewardFunction;
class SharedByWorkers;

/// Time limit and number of retries of a reward type if the keys timeout_s and max_retries are null. A type with other
/// values than these has a member usual_patience() in its struct of keys, such as LlmJudgeArgs.
struct Patience {
  double timeout_s = 10;    // seconds for one response, or one retry
  int64_t max_retries = 0;  // retries of a failed reward
};

/// Base of the struct of keys of a type without own keys.
struct NoRewardKeys {
  void fields(Keys&) {}
};

/// The key reward_type. kSoft: the type's numbers, unchanged; kHard: they become 1 if they are >= 0.5, else 0. kLoose
/// and kStrict exist only for crossthinkqa, whose rewards depend on \boxed (choice_rule.h).
enum class RewardScale { kSoft, kHard, kLoose, kStrict };
constexpr auto enum_names(RewardScale) {
  return std::to_array<Named<RewardScale>>({{RewardScale::kSoft, "soft"},
                                            {RewardScale::kHard, "hard"},
                                            {RewardScale::kLoose, "loose"},
                                            {RewardScale::kStrict, "strict"}});
}

/// Arguments of a type's factory besides its own keys.
struct RuleContext {
  double timeout_s = 10;                    // time limit for one response, in seconds
  std::string where;                        // prefix of keys in messages: "rewards.math.", or "--" for flags
  std::shared_ptr<SharedByWorkers> shared;  // state shared by all workers of the domain (shared.h); not null
  RewardScale scale = RewardScale::kSoft;   // kLoose or kStrict change the type's numbers; the caller applies kHard
};

/// Properties of a type that the code shared by all types reads (shaped.cpp).
struct RewardTraits {
  bool grades_choices = false;          // true: reward_type may be loose or strict, but not hard
  double repetition_penalty = 0;        // value of repetition_penalty.max_penalty if that key is null
  bool favours_long_responses = false;  // true: response_length_penalty_coef penalises short responses, not long ones
};

}  // namespace roll
