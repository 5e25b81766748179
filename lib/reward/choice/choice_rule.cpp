#include "reward/choice/choice_rule.h"

#include "base/error.h"
#include "reward/choice/choice_answer.h"
#include "reward/reward.h"
#include "reward/row_columns.h"
#include "reward/text_measures.h"

namespace roll {

namespace {

/// Rewards for right and wrong answers, with or without a box. With `needs_box`, only right answers in a box score 1.
struct Grades {
  double right_boxed, right, wrong_boxed, wrong;
  bool needs_box = false;
};
constexpr Grades kSoft{1, 0.5, -0.5, -1}, kLoose{1, 1, -1, -1}, kStrict{1, -1, -1, -1, true};
constexpr Grades kRightInBox{1, 0, 0, 0, true}, kRight{1, 1, 0, 0};

/// Returns the letter of a ground truth "B", "(B)", "B. Paris", or the text of a choice in the row; 0 if there is none.
char truth_letter(const std::string& ground_truth, const Json& row) {
  return chosen_letter({.text = ground_truth}, find_choices(row, "")).letter;
}

class ChoiceRule : public RewardFunction {
 public:
  explicit ChoiceRule(const Grades& grades) : grades_(grades) {}

  void check_row(const Json& row) const override {
    const std::string truth = column_text(row, "ground_truth");
    if (truth_letter(truth, row) == 0)
      throw user_error(
          "ground_truth = {}: must be the capital letter of the right choice, such as \"B\", or its text as the row's "
          "options list it",
          shown_text(truth));
  }

  std::optional<std::string> gold_response(const Json& row) const override {
    return "\\boxed{" + column_text(row, "ground_truth") + "}";
  }

  RewardResult score(const RewardQuery& query) override {
    const char truth = truth_letter(query.ground_truth, query.row);
    if (truth == 0) return failed_reward(RewardFailure::kUnjudged, "ground_truth is not a choice");
    const ChoiceAnswer answer = find_choice(after_thinking(query.response));
    const ChosenLetter chosen = chosen_letter(answer, find_choices(query.row, query.prompt));
    const bool is_right = chosen.letter == truth, is_boxed = answer.is_boxed;
    return {.reward = is_right ? (is_boxed ? grades_.right_boxed : grades_.right)
                               : (is_boxed ? grades_.wrong_boxed : grades_.wrong),
            .score = is_right && (is_boxed || !grades_.needs_box) ? 1.0 : 0.0,
            .detail = Json{{"answer", shown_text(answer.text)},
                           {"choice", chosen.letter ? std::string(1, chosen.letter) : ""},
                           {"boxed", is_boxed},
                           {"rule", chosen.rule}}};
  }

 private:
  Grades grades_;
};

}  // namespace

std::unique_ptr<RewardFunction> make_crossthinkqa(const CrossThinkQaArgs&, const RuleContext& context) {
  const bool is_strict = context.scale == RewardScale::kStrict, is_loose = context.scale == RewardScale::kLoose;
  return std::make_unique<ChoiceRule>(is_strict ? kStrict : is_loose ? kLoose : kSoft);
}

std::unique_ptr<RewardFunction> make_multiple_choice(const MultipleChoiceArgs&, const RuleContext&) {
  return std::make_unique<ChoiceRule>(kRightInBox);
}

std::unique_ptr<RewardFunction> make_general_val(const GeneralValArgs&, const RuleContext&) {
  return std::make_unique<ChoiceRule>(kRight);
}

}  // namespace roll
