// Reward type regex: a regular expression extracts the answer from the response; the answer must equal the ground
// truth.
#pragma once

#include <optional>

#include "config/keys.h"
#include "reward/rule.h"

namespace roll {

/// Keys of the type.
struct RegexArgs {
  std::optional<std::string> pattern;  // PCRE2 syntax, '.' also matches newlines; must be set
  bool ignore_case = false;            // both when matching and when comparing with the ground truth

  void fields(Keys& v) {
    v("pattern", pattern,
      "regular expression whose first group must equal ground_truth; without a group, a match "
      "gives 1");
    v("ignore_case", ignore_case, "ASCII letters compare equal in either case");
  }
};

/// Makes a reward that is 1 if the first group of the pattern's last match in the response equals the ground truth,
/// both without white space at their ends; else 0, also if nothing matches. A pattern without groups only has to match
/// and needs no ground truth. A match with a group gives a failed reward (reward.h: excluded from training by default)
/// if the ground truth is blank, and so does a search that exceeds timeout_s. Throws UserError if the pattern is
/// missing or does not compile.
std::unique_ptr<RewardFunction> make_regex(const RegexArgs& args, const RuleContext& context);

}  // namespace roll
