// Type exact_match: a part of the response must equal the ground truth, character by character.
#pragma once

#include "base/names.h"
#include "config/keys.h"
#include "reward/rule.h"

namespace roll {

/// The part of a response that is compared.
enum class AnswerPart { kWhole, kLastLine, kAfterMarker };
constexpr auto enum_names(AnswerPart) {
  return std::to_array<Named<AnswerPart>>({{AnswerPart::kWhole, "whole"},
                                           {AnswerPart::kLastLine, "last_line"},
                                           {AnswerPart::kAfterMarker, "after_marker"}});
}

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

/// Makes a reward that is 1 if the text (the whole response, its last line, or the text after the last marker) equals
/// the ground truth, both stripped; else 0. A blank ground truth is a failed reward, so that an empty response earns
/// nothing. UserError: after_marker without a marker.
std::unique_ptr<RewardFunction> make_exact_match(const ExactMatchArgs& args, const RuleContext& context);

}  // namespace roll
