// Types crossthinkqa, multiple_choice and general_val: does the response take the right one of the listed choices?
//
// All three read the answer behind the thinking (after_thinking()) by choice_answer.h and compare its letter with that
// of the ground truth ("B", "(B)", "B. Paris"; or the text of a choice that the row lists). They differ in the numbers:
//   crossthinkqa     score 1 or 0, and a reward by reward_type:
//                              right, boxed  right, no box  wrong, boxed  wrong, no box
//                      soft               1            0.5          -0.5             -1
//                      loose              1              1            -1             -1
//                      strict             1             -1            -1             -1
//   multiple_choice  1 when it is right and boxed, else 0
//   general_val      1 when it is right, boxed or not, else 0
// ROLL gives the last two as scores beside a reward of always 0, from which nothing can be learnt; here both are one.
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
