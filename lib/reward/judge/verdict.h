// Parses the score from the answer of a judging language model, for judge_rule.h. An answer without a clear score gives
// no score, and the judge is asked again (max_retries). ROLL is less strict: it takes the first number after any
// "Score:", treats 1 of 10 as the best score, and finds "yes" and "no" inside words ("cannot", "know"). It also clamps
// numbers and turns unreadable answers into 0.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roll {

/// Kinds of answers that a prompt template asks for. The default is both, since the user's templates may ask for
/// either.
struct AnswerFormat {
  bool grade = true;                   // a number
  bool yes_or_no = true;               // YES or NO
  std::optional<double> best_score{};  // grade that means score 1; unset: grades above 1 are out of 10, others out of 1
};

/// Result of parsing.
struct Verdict {
  std::optional<double> score{};  // in 0..1; unset: the answer has no readable score
  std::string problem{};          // reason if `score` is unset: "answered ...: ..."
};

/// Parses a judge's answer, without its reasoning ("...</think>"). Uses the first of these that the answer has:
///   1. a grade, if answer_format.grade: "score" in a JSON object at the end; or the last "Score:" at the start of a
///      line or sentence ("Score: 7", "**Final Score:** 7/10"); or a number as the whole answer. The score is the grade
///      / the maximum that follows it ("/10", "out of 10"), else / best_score. Unreadable if that is outside 0..1, or
///      if the text after the grade makes it ambiguous ("Score: 7 or 8").
///   2. YES or NO as the whole answer, which means 1 or 0
///   3. YES or NO, if answer_format.yes_or_no: alone on the first or last line, perhaps after "Verdict:", "Output:",
///      "Judgement:" or "Decision:" (on the last line also "Answer:"). If both lines have one, they must agree.
/// Ignores letter case and markup. YES and NO inside a sentence do not count: "Yes, I can grade this", "No idea".
/// `is_cut`: the judge was stopped at its token limit, so its last word or number may be incomplete and may not count.
Verdict parse_verdict(std::string_view text, const AnswerFormat& answer_format = {}, bool is_cut = false);

/// Parses a text that is only the score, such as the one found by judge_score_pattern: "7", "7/10", "YES".
/// `best_score`: as in AnswerFormat.
Verdict parse_score(std::string_view text, std::optional<double> best_score = {});

}  // namespace roll
