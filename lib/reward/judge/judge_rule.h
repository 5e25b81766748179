// Builds the question to a judging language model and reads the score from the model's answer. Used by llm_judge.cpp
// for judges behind a server or in a program, and by collect/reward_models.cpp for judges that run in this program.
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

/// Returns the text of a built-in prompt template, with the fields {question}, {response} and, in some, {reference}.
std::string_view template_text(JudgeTemplate name);
/// Returns which kind of answer (a grade, or YES or NO) a built-in template asks for.
AnswerFormat template_answer_format(JudgeTemplate name);

/// Values of a template's three fields, inserted literally: text such as {response} inside a value is not replaced.
/// `reference` is the row's ground truth.
struct JudgeQuestion {
  std::string_view question, response, reference;
};

/// A prompt template, built-in or the user's. Braces other than those of the three fields are literal.
class JudgePrompt {
 public:
  /// Throws UserError if `text` has no {response}; the message does not name the key, which callers add.
  explicit JudgePrompt(std::string_view text);

  /// Returns the filled template as one chat message: [{"role": "user", "content": ...}].
  Json messages(const JudgeQuestion& question) const;
  /// Returns whether the template has a field {reference}.
  bool needs_reference() const;

 private:
  std::string text_;
};

/// Returns the value of {question} for a response: the text of the last user message in query.messages; query.prompt if
/// there is none.
std::string judge_question(const RewardQuery& query);

/// Turns responses into questions and answers into rewards, under one configuration. Not thread-safe.
class JudgeRule {
 public:
  /// Throws UserError if the keys judge_prompt and judge_prompt_file are both set, the file is missing or lacks
  /// {response}, or judge_score_pattern does not compile.
  JudgeRule(const LlmJudgeArgs& args, const RuleContext& context);

  /// Throws UserError if the template has a {reference} and the row has no ground truth.
  void check_row(const Json& row) const;
  /// Returns the chat messages for the judge; or a failed reward (kUnjudged) if the template has a {reference} and the
  /// ground truth is blank.
  std::variant<Json, RewardResult> question(const RewardQuery& query) const;
  /// Returns the reward for the judge's answer, with detail {"judge": the answer, cut to 500 bytes}; or a failed reward
  /// (kUnparsable) if the answer has no verdict.
  RewardResult verdict(const JudgeWords& words);

 private:
  JudgePrompt prompt_;
  AnswerFormat answer_format_;
  std::optional<AnswerPattern> pattern_;
};

}  // namespace roll
