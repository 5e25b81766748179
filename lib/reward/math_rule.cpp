#include "reward/math_rule.h"

#include "base/error.h"
#include "reward/math/answer.h"
#include "reward/math/compare.h"
#include "reward/reward.h"
#include "reward/row_columns.h"
#include "reward/text_measures.h"

namespace roll {

namespace {

class MathRule : public RewardFunction {
 public:
  explicit MathRule(double time_limit_s) : time_limit_s_(time_limit_s) {}

  void check_row(const Json& row) const override {
    if (stripped(column_text(row, "ground_truth")).empty())
      throw UserError("ground_truth: missing; give the right answer");
  }

  std::optional<std::string> gold_response(const Json& row) const override {
    return "\\boxed{" + math::unboxed(column_text(row, "ground_truth")) + "}";
  }

  RewardResult score(const RewardQuery& query) override {
    const math::Answer answer = math::find_answer(query.response);
    try {
      math::Deadline deadline(time_limit_s_);
      const auto comparison = math::compare_answers(math::unboxed(query.ground_truth), answer.text, deadline);
      return judged(comparison.equal ? 1 : 0,
                    Json{{"answer", answer.text}, {"source", answer.source}, {"rule", comparison.rule}});
    } catch (const math::TimeLimitPassed&) {
      RewardResult result = timed_out();
      result.detail["answer"] = answer.text;
      return result;
    }
  }

 private:
  double time_limit_s_;
};

}  // namespace

std::unique_ptr<RewardFunction> make_math_rule(const MathRuleArgs&, const RuleContext& context) {
  return std::make_unique<MathRule>(context.timeout_s);
}

}  // namespace roll
