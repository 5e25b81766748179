// Parses the score from a judge's answer. Stricter than ROLL, which takes the first number after any "Score:", treats 1
// of 10 as the best score, finds "yes" and "no" inside words ("cannot", "know"), clamps numbers and turns unreadable
// answers into 0. Here none of these is a verdict, and the judge is asked again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roll {

/// Kinds of answers that a template asks for; both by default, for the user's templates.
struct AnswerFormat {
  bool grade = true, yes_or_no = true;
  std::optional<double> best_score{};  // best grade; unset: a number above 1 counts as tenths
};

struct Verdict {
  std::optional<double> score{};  // in 0..1
  std::string problem{};          // reason if there is no score: "answered ...: ..."
};

/// Parses the text after the last end of a thought ("</think>"). Looks for these, in this order:
///   a grade, if one is asked for: the last "Score:" at the start of a line or sentence (in any case, with markup):
///   "Score: 7", "**Final Score:** 7/10", "Scores: 4 out of 5"; or "score" in a JSON object at the end; or the whole
///   answer is a number. Nothing else may follow the number: "Score: 7 or 8" is unreadable. Divided by best_score; a
///   result outside 0..1 is unreadable.
///   YES or NO (in any case, with markup) as the whole answer
///   YES or NO, if asked for: alone on the first or last line, also as "Verdict: YES" (or output, judgement, decision;
///   on the last line also answer); if both lines have one, they must agree
/// Words inside a sentence do not count: "Yes, I can grade this", "No idea", "I cannot say yes or no".
/// `is_cut`: the judge was stopped at its token limit, so its last word or number may be incomplete.
Verdict parse_verdict(std::string_view text, const AnswerFormat& answer_format = {}, bool is_cut = false);

/// Parses a text that is only the score, as found by judge_score_pattern: "7", "7/10", "YES".
Verdict parse_score(std::string_view text, std::optional<double> best_score = {});

}  // namespace roll
