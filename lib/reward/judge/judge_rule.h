// What is asked of a judge and what its words mean, whoever the judge is.
#pragma once

#include <optional>
#include <variant>

#include "reward/judge/judge_model.h"
#include "reward/judge/prompt.h"
#include "reward/llm_judge.h"
#include "reward/pattern.h"

namespace roll {

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
