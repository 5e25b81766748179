// The question to a judge and the score in its answer, for judges of every kind.
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

/// A template's text: {question}, {response} and {reference} are its fields; all other braces are themselves.
std::string_view template_text(JudgeTemplate name);
/// Whether it asks for a grade, or for YES or NO.
Asked asked_by(JudgeTemplate name);

/// The values of the fields. They are copied as they are: a field's name within a value is not filled in again.
struct JudgeQuestion {
  std::string_view question, response, reference;
};

class JudgePrompt {
 public:
  /// UserError (a rule without key and place): `text` has no {response}, so that nothing would be judged.
  explicit JudgePrompt(std::string_view text);

  /// One message of the user: [{"role": "user", "content": ...}].
  Json messages(const JudgeQuestion& question) const;
  /// Whether a row without a reference leaves a hole in it.
  bool needs_reference() const;

 private:
  std::string text_;
};

/// The last message of the user; where there is none, the prompt.
std::string question_of(const RewardQuery& query);

/// Not thread-safe: a pattern has its own memory.
class JudgeRule {
 public:
  /// UserError as make_llm_judge().
  JudgeRule(const LlmJudgeArgs& args, const RuleContext& context);

  /// UserError: the template has a {reference}, and the row no ground truth.
  void check_row(const Json& row) const;
  /// Messages, or the failure `unjudged`: the template has a {reference} and the row's ground truth is blank.
  std::variant<Json, RewardResult> question(const RewardQuery& query) const;
  /// Detail {"judge": the words}, cut to 500 bytes; `unparsable` where they hold no verdict.
  RewardResult verdict(const JudgeWords& words);

 private:
  JudgePrompt prompt_;
  Asked asked_;
  std::optional<AnswerPattern> pattern_;
};

}  // namespace roll
