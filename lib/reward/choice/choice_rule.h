// Types crossthinkqa, multiple_choice and general_val: does the response take the right one of the listed choices?
//
// All three read the answer behind the thinking (final_answer.h) by choice_answer.h and compare its letter with that of
// the ground truth ("B", "(B)", "B. Paris"; or the text of a choice that the row lists); they differ in what that
// earns:
//   crossthinkqa     score 1 or 0, and a reward by reward_type:   right, boxed  right, no box  wrong, boxed  wrong, no
//   box
//                      soft                                            1             0.5           -0.5           -1
//                      loose                                           1             1             -1             -1
//                      strict                                          1            -1             -1             -1
//   multiple_choice  1 when it is right and boxed, else 0
//   general_val      1 when it is right, boxed or not, else 0
// ROLL gives the last two as scores beside a reward of always 0, from which nothing can be learnt; here both are one.
#pragma once

#include "reward/rule.h"

namespace roll {

struct CrossThinkQaArgs {
  template <class V>
  void fields(V&) {}
};
struct MultipleChoiceArgs {
  template <class V>
  void fields(V&) {}
};
struct GeneralValArgs {
  template <class V>
  void fields(V&) {}
};

std::unique_ptr<RewardFunction> make_crossthinkqa(const CrossThinkQaArgs& args, const RuleContext& context);
std::unique_ptr<RewardFunction> make_multiple_choice(const MultipleChoiceArgs& args, const RuleContext& context);
std::unique_ptr<RewardFunction> make_general_val(const GeneralValArgs& args, const RuleContext& context);

}  // namespace roll
