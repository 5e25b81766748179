#include "reward/ifeval_rule.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "reward/ifeval/instruction.h"
#include "reward/reward.h"
#include "reward/row_columns.h"
#include "reward/text_measures.h"
#include "unicode/unicode.h"

namespace roll {

namespace {

class IfevalRule : public RewardFunction {
 public:
  IfevalRule(const IfevalArgs& args, double time_limit_s) : args_(args), time_limit_s_(time_limit_s) {}

  void check_row(const Json& row) const override {
    for (const auto& instruction : ifeval::read_instructions(row, column_text(row, "ground_truth")))
      ifeval::follows(instruction, "", expressions_);
  }

  RewardResult score(const RewardQuery& query) override {
    try {
      expressions_.limit_time(time_limit_s_);
      return judge(ifeval::read_instructions(query.row, query.ground_truth), query.response);
    } catch (const UserError& error) {  // the row is unusable
      return failed_reward(RewardFailure::kUnjudged, error.what());
    } catch (const MatchFailed&) {
      return timed_out();
    }
  }

 private:
  RewardResult judge(const std::vector<ifeval::Instruction>& instructions, const std::string& response) {
    const std::string answer = to_valid_utf8(after_thinking(response));
    const std::vector<std::string> texts = args_.strict ? std::vector{answer} : ifeval::loose_texts(answer);
    Json followed = Json::array();
    double num_followed = 0;
    for (const auto& instruction : instructions) {
      followed.push_back(std::ranges::any_of(
          texts, [&](const std::string& text) { return ifeval::follows(instruction, text, expressions_); }));
      num_followed += followed.back().get<bool>();
    }
    const double share = num_followed / static_cast<double>(instructions.size());
    return judged(args_.score == InstructionShare::kShare ? share : std::floor(share), Json{{"followed", followed}});
  }

  IfevalArgs args_;
  double time_limit_s_;
  mutable ifeval::Expressions expressions_;
};

}  // namespace

std::unique_ptr<RewardFunction> make_ifeval(const IfevalArgs& args, const RuleContext& context) {
  return std::make_unique<IfevalRule>(args, context.timeout_s);
}

}  // namespace roll
