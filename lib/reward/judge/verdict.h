// What a judge's words mean. Strict where ROLL guesses: its score is the first number behind any "Score:", a 1 of 10 is
// its best score, "yes" may stand within a word or beside a "no", numbers out of range are cut to it, and what it
// cannot read at all is a 0. Here that is no verdict, and the judge is asked again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roll {

struct Verdict {
  std::optional<double> score{};  // in 0..1
  std::string problem{};          // why there is none: "answered ...: ..."
};

/// In this order, of what follows the last "</think>":
///   the last "Score:" (in any case, with markup): "Score: 7", "**Score:** 7/10", "score: 7 out of 10"; divided by
///   best_score, without which a number above 1 counts as tenths. Out of 0..1 is unreadable.
///   lines that hold nothing but YES or NO (in any case, with markup), which agree
///   YES or NO as the first or last word, or in capitals as a word anywhere, if only one of the two is there; of a text
///   that was cut off, neither
/// is_cut: the judge was stopped by its limit of tokens, so a number at the very end may lack digits.
Verdict parse_verdict(std::string_view text, std::optional<double> best_score = {}, bool is_cut = false);

/// The same for a text that is only the score, as an expression of the user's found it: "7", "7/10", "YES".
Verdict parse_score(std::string_view text, std::optional<double> best_score = {});

}  // namespace roll
