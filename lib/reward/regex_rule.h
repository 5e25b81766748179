// Type regex: a regular expression extracts the answer, which must equal the ground truth.
#pragma once

#include <optional>

#include "config/keys.h"
#include "reward/rule.h"

namespace roll {

struct RegexArgs {
  std::optional<std::string> pattern;
  bool ignore_case = false;

  void fields(Keys& v) {
    v("pattern", pattern, "expression whose first group must equal ground_truth; 1 if it has none");
    v("ignore_case", ignore_case, "ASCII letters compare equal in either case");
  }
};

/// 1 when `pattern` matches and its last match's first group, stripped, equals the ground truth (a blank one is an
/// error of the answer). UserError: no pattern, or one that does not compile.
std::unique_ptr<RewardFunction> make_regex(const RegexArgs& args, const RuleContext& context);

}  // namespace roll
