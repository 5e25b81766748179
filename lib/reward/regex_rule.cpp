#include "reward/regex_rule.h"

#include "base/error.h"
#include "reward/pattern.h"
#include "reward/reward.h"
#include "reward/row_columns.h"
#include "reward/text_measures.h"

namespace roll {

namespace {

class RegexRule : public RewardFunction {
 public:
  RegexRule(const RegexArgs& args, const RuleContext& context)
      : pattern_(*args.pattern, context.where + "pattern", context.timeout_s, args.ignore_case),
        ignore_case_(args.ignore_case) {}

  void check_row(const Json& row) const override {
    if (pattern_.num_groups() > 0 && stripped(column_text(row, "ground_truth")).empty())
      throw UserError("ground_truth: missing; the pattern's group must equal it");
  }

  RewardResult score(const RewardQuery& query) override {
    try {
      const auto groups = pattern_.last_match(query.response);
      if (!groups) return judged(0, Json{{"rule", "no match"}});
      if (groups->size() < 2) return judged(1, Json{{"answer", (*groups)[0]}, {"rule", "match"}});
      if (stripped(query.ground_truth).empty()) return failed_reward(RewardFailure::kUnjudged, kNoGroundTruth);
      const std::string answer = stripped((*groups)[1]);
      const bool equal = same_text(answer, query.ground_truth, ignore_case_);
      return judged(equal ? 1 : 0, Json{{"answer", answer}, {"rule", "group"}});
    } catch (const MatchFailed&) {
      return timed_out();
    }
  }

 private:
  AnswerPattern pattern_;
  bool ignore_case_;
};

}  // namespace

std::unique_ptr<RewardFunction> make_regex(const RegexArgs& args, const RuleContext& context) {
  if (!args.pattern || args.pattern->empty())
    throw user_error("{}pattern: missing; the regex reward needs one, such as \"answer: (.*)\"", context.where);
  return std::make_unique<RegexRule>(args, context);
}

}  // namespace roll
