// Types crossthinkqa, multiple_choice and general_val: check whether a response takes the right listed choice.
//
// All three read the answer after the thinking (after_thinking()) by choice_answer.h and compare its letter with the
// ground truth's ("B", "(B)", "B. Paris"; or the text of a choice listed in the row). They differ in the rewards:
//   crossthinkqa     score 1 or 0, and a reward by reward_type:
//                              right, boxed  right, no box  wrong, boxed  wrong, no box
//                      soft               1            0.5          -0.5             -1
//                      loose              1              1            -1             -1
//                      strict             1             -1            -1             -1
//   multiple_choice  1 if right and boxed, else 0
//   general_val      1 if right, boxed or not, else 0
// In ROLL the last two are only scores, with a reward that is always 0; here they are also the reward.
#pragma once

#include "reward/rule.h"

namespace roll {

struct CrossThinkQaArgs : NoRewardKeys {};
struct MultipleChoiceArgs : NoRewardKeys {};
struct GeneralValArgs : NoRewardKeys {};

std::unique_ptr<RewardFunction> make_crossthinkqa(const CrossThinkQaArgs& args, const RuleContext& context);
std::unique_ptr<RewardFunction> make_multiple_choice(const MultipleChoiceArgs& args, const RuleContext& context);
std::unique_ptr<RewardFunction> make_general_val(const GeneralValArgs& args, const RuleContext& context);

}  // namespace roll
