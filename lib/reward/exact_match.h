// Reward type exact_match: a part of the response must equal the ground truth, character by character.
#pragma once

#include "base/names.h"
#include "config/keys.h"
#include "reward/rule.h"

namespace roll {

/// The part of a response that is compared: the whole, its last line, or the text after its last marker.
enum class AnswerPart { kWhole, kLastLine, kAfterMarker };
constexpr auto enum_names(AnswerPart) {
  return std::to_array<Named<AnswerPart>>({{AnswerPart::kWhole, "whole"},
                                           {AnswerPart::kLastLine, "last_line"},
                                           {AnswerPart::kAfterMarker, "after_marker"}});
}

/// Keys of the type.
struct ExactMatchArgs {
  AnswerPart compare = AnswerPart::kWhole;
  std::string marker = "####";
  bool ignore_case = false;

  void fields(Keys& v) {
    v("compare", compare, "part of the response that must equal ground_truth");
    v("marker", marker, "text directly before the answer; its last occurrence in the response counts");
    v("ignore_case", ignore_case, "ASCII letters compare equal in either case");
  }
};

/// Makes a reward that is 1 if the part `args.compare` of the response equals the ground truth, without white space at
/// both ends, else 0. It is 0, too, if the response lacks the marker. A blank ground truth gives a failed reward
/// (reward.h), so that an empty response earns nothing. Throws UserError if `compare` is kAfterMarker and `marker` is
/// empty.
std::unique_ptr<RewardFunction> make_exact_match(const ExactMatchArgs& args, const RuleContext& context);

}  // namespace roll
