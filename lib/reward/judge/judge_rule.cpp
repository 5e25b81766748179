#include "reward/judge/judge_rule.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "reward/reply.h"
#include "reward/row_columns.h"
#include "reward/same_text.h"

namespace roll {

namespace {

constexpr size_t kShownWords = 500;

JudgePrompt prompt_of(const LlmJudgeArgs& args, const std::string& where) {
  if (!args.judge_prompt_file)
    return JudgePrompt(template_text(args.judge_prompt.value_or(JudgeTemplate::kScoreWithReference)));
  if (args.judge_prompt)
    throw user_error("{0}judge_prompt_file = {1}: {0}judge_prompt = {2} names another template; keep one of the two",
                     where, *args.judge_prompt_file, name_of(*args.judge_prompt));
  if (!is_there(*args.judge_prompt_file))
    throw user_error("{}judge_prompt_file = {}: no such file; a path counts from the folder that roll runs in", where,
                     *args.judge_prompt_file);
  try {
    return JudgePrompt(read_file(*args.judge_prompt_file));
  } catch (const UserError& e) {
    throw user_error("{}judge_prompt_file = {}: {}", where, *args.judge_prompt_file, e.what());
  }
}

Asked asked_in(const LlmJudgeArgs& args) {
  Asked asked =
      args.judge_prompt_file ? Asked() : asked_by(args.judge_prompt.value_or(JudgeTemplate::kScoreWithReference));
  if (args.judge_score_max) asked.best_score = args.judge_score_max;
  return asked;
}

}  // namespace

JudgeRule::JudgeRule(const LlmJudgeArgs& args, const RuleContext& context)
    : prompt_(prompt_of(args, context.where)), asked_(asked_in(args)) {
  if (args.judge_score_pattern)
    pattern_.emplace(*args.judge_score_pattern, context.where + "judge_score_pattern", context.timeout_s);
}

void JudgeRule::check_row(const Json& row) const {
  if (prompt_.needs_reference() && stripped(text_of_column(row, "ground_truth")).empty())
    throw UserError("ground_truth: missing; the judge compares with it, unless judge_prompt is score");
}

std::variant<Json, RewardResult> JudgeRule::question(const RewardQuery& query) const {
  if (prompt_.needs_reference() && stripped(query.ground_truth).empty())
    return failed_reward(RewardFailure::kUnjudged, kNoGroundTruth);
  const std::string question = question_of(query);
  return prompt_.messages({.question = question, .response = query.response, .reference = query.ground_truth});
}

RewardResult JudgeRule::verdict(const JudgeWords& words) {
  Verdict verdict;
  try {
    if (!pattern_)
      verdict = parse_verdict(words.text, asked_, words.is_cut);
    else if (const auto groups = pattern_->last_match(words.text))
      verdict = parse_score((*groups)[groups->size() > 1 ? 1 : 0], asked_.best_score);
    else
      verdict.problem = fmt::format("answered {}: judge_score_pattern matches nothing in it", said_text(words.text));
  } catch (const MatchFailed& e) {
    verdict.problem = fmt::format("judge_score_pattern: {}", e.what());
  }
  if (!verdict.score) return failed_reward(RewardFailure::kUnparsable, "the judge " + verdict.problem);
  return judged(*verdict.score, Json{{"judge", whole_characters(words.text, kShownWords)}});
}

}  // namespace roll
