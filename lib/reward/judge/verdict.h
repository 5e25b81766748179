// Parses the score out of a judge's words. Strict where ROLL guesses: ROLL's score is the first number behind any
// "Score:", a 1 of 10 is its best score, "yes" and "no" may stand within a word ("cannot", "know"), numbers out of
// range are clamped, and what cannot be read is a 0. Here all that is no verdict, and the judge is asked again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roll {

/// The kinds of answers that a template asks for. By default either, as in a template of the user.
struct Asked {
  bool grade = true, yes_or_no = true;
  std::optional<double> best_score{};  // of a grade; without it a number above 1 counts as tenths
};

struct Verdict {
  std::optional<double> score{};  // in 0..1
  std::string problem{};          // why there is none: "answered ...: ..."
};

/// In this order, of what follows the last end of a thought ("</think>"):
///   a grade, where one is asked for: the last "Score:" at the beginning of a line or sentence (in any case, with
///   markup): "Score: 7", "**Final Score:** 7/10", "Scores: 4 out of 5"; "score" of a JSON object at the end; or a
///   number that is the whole answer. Nothing else may stand beside the number: "Score: 7 or 8" is none. Divided by
///   best_score; out of 0..1 is unreadable.
///   YES or NO (in any case, with markup) as the whole answer
///   YES or NO where they are asked for: alone on the first line or the last one, also as "Verdict: YES" (or output,
///   judgement, decision; on the last line answer as well); where both lines tell, they agree
/// Words within a sentence are none of it: "Yes, I can grade this", "No idea", "I cannot say yes or no".
/// is_cut: the judge was stopped by its limit of tokens, so that its last word may lack letters or digits.
Verdict parse_verdict(std::string_view text, const Asked& asked = {}, bool is_cut = false);

/// For a text that is only the score, as found by judge_score_pattern: "7", "7/10", "YES".
Verdict parse_score(std::string_view text, std::optional<double> best_score = {});

}  // namespace roll
