// Builds the question to a judge and reads the score from its answer, for all judges (llm_judge.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "reward/judge/verdict.h"
#include "reward/llm_judge.h"
#include "reward/pattern.h"
#include "reward/reward.h"

namespace roll {

/// Returns a template's text with the fields {question}, {response} and {reference}; other braces are literal.
std::string_view template_text(JudgeTemplate name);
/// Returns whether the template asks for a grade, or for YES or NO.
AnswerFormat template_answer_format(JudgeTemplate name);

/// Values of the template's fields, inserted literally: a field's name inside a value is not replaced.
struct JudgeQuestion {
  std::string_view question, response, reference;
};

class JudgePrompt {
 public:
  /// UserError (a rule without key and position): `text` has no {response}.
  explicit JudgePrompt(std::string_view text);

  /// Returns one user message: [{"role": "user", "content": ...}].
  Json messages(const JudgeQuestion& question) const;
  /// Returns whether the template has a field {reference}.
  bool needs_reference() const;

 private:
  std::string text_;
};

/// Returns the last user message; the prompt if there is none.
std::string judge_question(const RewardQuery& query);

/// Not thread-safe: the pattern has match memory.
class JudgeRule {
 public:
  /// UserError: as for make_llm_judge().
  JudgeRule(const LlmJudgeArgs& args, const RuleContext& context);

  /// UserError: the template has a {reference}, but the row has no ground truth.
  void check_row(const Json& row) const;
  /// Returns the messages, or the failure `unjudged` if the template has a {reference} and the ground truth is blank.
  std::variant<Json, RewardResult> question(const RewardQuery& query) const;
  /// Returns the reward; detail {"judge": the answer}, cut to 500 bytes. Failure `unparsable`: it has no verdict.
  RewardResult verdict(const JudgeWords& words);

 private:
  JudgePrompt prompt_;
  AnswerFormat answer_format_;
  std::optional<AnswerPattern> pattern_;
};

}  // namespace roll
