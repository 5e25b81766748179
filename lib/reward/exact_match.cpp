#include "reward/exact_match.h"

#include "base/error.h"
#include "reward/reward.h"
#include "reward/row_columns.h"
#include "reward/text_measures.h"

namespace roll {

namespace {

class ExactMatch : public RewardFunction {
 public:
  explicit ExactMatch(const ExactMatchArgs& args) : args_(args) {}

  void check_row(const Json& row) const override {
    if (stripped(column_text(row, "ground_truth")).empty())
      throw UserError("ground_truth: missing; give the text that a response must equal");
  }

  std::optional<std::string> gold_response(const Json& row) const override {
    const std::string truth = column_text(row, "ground_truth");
    return args_.compare == AnswerPart::kAfterMarker ? args_.marker + " " + truth : truth;
  }

  RewardResult score(const RewardQuery& query) override {
    if (stripped(query.ground_truth).empty()) return failed_reward(RewardFailure::kUnjudged, kNoGroundTruth);
    const std::string answer = part(query.response);
    const bool equal = same_text(answer, query.ground_truth, args_.ignore_case);
    return judged(equal ? 1 : 0, Json{{"answer", answer}, {"rule", enum_name(args_.compare)}});
  }

 private:
  std::string part(const std::string& response) const {
    const std::string text = stripped(response);
    if (args_.compare == AnswerPart::kWhole) return text;
    if (args_.compare == AnswerPart::kLastLine) return stripped(text.substr(text.rfind('\n') + 1));
    const size_t at = text.rfind(args_.marker);
    return at == std::string::npos ? "" : stripped(text.substr(at + args_.marker.size()));
  }

  ExactMatchArgs args_;
};

}  // namespace

std::unique_ptr<RewardFunction> make_exact_match(const ExactMatchArgs& args, const RuleContext& context) {
  if (args.compare == AnswerPart::kAfterMarker && args.marker.empty())
    throw user_error("{}marker = \"\": compare after_marker needs a marker, such as \"####\"", context.where);
  return std::make_unique<ExactMatch>(args);
}

}  // namespace roll
