// Reward types crossthinkqa, multiple_choice and general_val: check whether a response names the right one of the
// choices that its question lists.
//
// All three find the choice in the response's text after </think> (choice_answer.h) and compare its letter with the
// letter of the row's ground truth ("B", "(B)", "B. Paris"; or the text of a choice listed in the row). "Boxed" means
// that the answer is in \boxed{...}. The types differ in score and reward:
//   crossthinkqa     score 1 if right (with strict: right and boxed), else 0; reward by the key reward_type:
//                              right, boxed  right, no box  wrong, boxed  wrong, no box
//                      soft               1            0.5          -0.5             -1
//                      loose              1              1            -1             -1
//                      strict             1             -1            -1             -1
//   multiple_choice  score and reward are 1 if right and boxed, else 0
//   general_val      score and reward are 1 if right, boxed or not, else 0
// In ROLL the last two types give only a score, and a reward that is always 0.
// If a row's ground truth names no choice, check_row() throws UserError, and score() returns a failed reward
// (reward.h).
#pragma once

#include "reward/rule.h"

namespace roll {

struct CrossThinkQaArgs : NoRewardKeys {};
struct MultipleChoiceArgs : NoRewardKeys {};
struct GeneralValArgs : NoRewardKeys {};

/// Make the rewards; the table of types.h calls them. `context.scale` is the key reward_type.
std::unique_ptr<RewardFunction> make_crossthinkqa(const CrossThinkQaArgs& args, const RuleContext& context);
std::unique_ptr<RewardFunction> make_multiple_choice(const MultipleChoiceArgs& args, const RuleContext& context);
std::unique_ptr<RewardFunction> make_general_val(const GeneralValArgs& args, const RuleContext& context);

}  // namespace roll
