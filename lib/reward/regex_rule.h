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
    v("pattern", pattern,
      "regular expression whose first group must equal ground_truth; without a group, a match "
      "gives 1");
    v("ignore_case", ignore_case, "ASCII letters compare equal in either case");
  }
};

/// Makes a reward that is 1 if `pattern` matches and the first group of its last match, stripped, equals the ground
/// truth; else 0. A pattern without groups only has to match. A blank ground truth is a failed reward. UserError: the
/// pattern is missing or does not compile.
std::unique_ptr<RewardFunction> make_regex(const RegexArgs& args, const RuleContext& context);

}  // namespace roll
