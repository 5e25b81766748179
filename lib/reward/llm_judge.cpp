#include "reward/llm_judge.h"

#include "base/error.h"
#include "reward/judge/judge_model.h"
#include "reward/judge/judge_rule.h"

namespace roll {

namespace {

class LlmJudge : public RewardFunction {
 public:
  LlmJudge(JudgeRule rule, std::unique_ptr<JudgeModel> model) : rule_(std::move(rule)), model_(std::move(model)) {}

  void check_row(const Json& row) const override { rule_.check_row(row); }
  void check_files() const override {
    if (model_) model_->check_files();
  }

  RewardResult score(const RewardQuery& query) override {
    const auto question = rule_.question(query);
    if (const auto* unjudged = std::get_if<RewardResult>(&question)) return *unjudged;
    if (!model_ && !query.judge_words) return failed_reward(RewardFailure::kUnjudged, kTooLongForModel);
    if (!model_) return rule_.verdict(*query.judge_words);
    const JudgeReply reply = model_->ask(std::get<Json>(question));
    if (const auto* failure = std::get_if<RewardResult>(&reply)) return *failure;
    return rule_.verdict(std::get<JudgeWords>(reply));
  }

 private:
  JudgeRule rule_;
  std::unique_ptr<JudgeModel> model_;  // nullptr: the judge runs in this program
};

std::unique_ptr<JudgeModel> make_model(const LlmJudgeArgs& args, const RuleContext& context) {
  switch (args.judge_model_type) {
    case JudgeModelType::kApi:
      return make_api_judge(args, context);
    case JudgeModelType::kCommand:
      return make_command_judge(args, context);
    case JudgeModelType::kInference:
    case JudgeModelType::kCluster:
      return nullptr;
  }
  throw Bug("a judge_model_type without its model");
}

}  // namespace

std::unique_ptr<RewardFunction> make_llm_judge(const LlmJudgeArgs& args, const RuleContext& context) {
  if (args.generating_args.num_return_sequences.value_or(1) != 1)
    throw user_error("{}generating_args.num_return_sequences = {}: a judge gives one answer; set it to 1",
                     context.where, *args.generating_args.num_return_sequences);
  return std::make_unique<LlmJudge>(JudgeRule(args, context), make_model(args, context));
}

}  // namespace roll
