#include "reward/choice/choice_rule.h"

#include "base/error.h"
#include "reward/choice/choice_answer.h"
#include "reward/final_answer.h"
#include "reward/reward.h"
#include "reward/row_columns.h"

namespace roll {

namespace {

struct Grade {
  double reward, score;
};
using GradeOf = Grade (*)(bool is_right, bool is_boxed);

Grade soft_grade(bool is_right, bool is_boxed) {
  return {is_right ? (is_boxed ? 1 : 0.5) : (is_boxed ? -0.5 : -1), is_right ? 1.0 : 0.0};
}
Grade loose_grade(bool is_right, bool) {
  return {is_right ? 1.0 : -1.0, is_right ? 1.0 : 0.0};
}
/// The score is of the whole verdict: right outside of the box is wrong.
Grade strict_grade(bool is_right, bool is_boxed) {
  return loose_grade(is_right && is_boxed, is_boxed);
}
Grade boxed_grade(bool is_right, bool is_boxed) {
  const double grade = is_right && is_boxed ? 1 : 0;
  return {grade, grade};
}
Grade right_grade(bool is_right, bool) {
  return {is_right ? 1.0 : 0.0, is_right ? 1.0 : 0.0};
}

/// The letter of "B", "(B)" or "B. Paris", or of a choice that the row lists by its text; 0: it has none.
char letter_of_truth(const std::string& ground_truth, const Json& row) {
  return chosen_letter({.text = ground_truth}, choices_of(row, "")).letter;
}

class ChoiceRule : public RewardFunction {
 public:
  explicit ChoiceRule(GradeOf grade_of) : grade_of_(grade_of) {}

  void check_row(const Json& row) const override {
    const std::string truth = text_of_column(row, "ground_truth");
    if (letter_of_truth(truth, row) == 0)
      throw user_error(
          "ground_truth = {}: must be the capital letter of the right choice, as \"B\", or its text as the row's "
          "options list it",
          shown_text(truth));
  }

  std::optional<std::string> gold_response(const Json& row) const override {
    return "\\boxed{" + text_of_column(row, "ground_truth") + "}";
  }

  RewardResult score(const RewardQuery& query) override {
    const char truth = letter_of_truth(query.ground_truth, query.row);
    if (truth == 0) return failed_reward(RewardFailure::kUnjudged, "ground_truth is no choice");
    const ChoiceAnswer answer = find_choice(after_thinking(query.response));
    const ChosenLetter chosen = chosen_letter(answer, choices_of(query.row, query.prompt));
    const auto [reward, score] = grade_of_(chosen.letter == truth, answer.is_boxed);
    return {.reward = reward,
            .score = score,
            .detail = Json{{"answer", shown_text(answer.text)},
                           {"choice", chosen.letter ? std::string(1, chosen.letter) : ""},
                           {"boxed", answer.is_boxed},
                           {"rule", chosen.rule}}};
  }

 private:
  GradeOf grade_of_;
};

}  // namespace

std::unique_ptr<RewardFunction> make_crossthinkqa(const CrossThinkQaArgs&, const RuleContext& context) {
  const bool is_strict = context.scale == RewardScale::kStrict, is_loose = context.scale == RewardScale::kLoose;
  return std::make_unique<ChoiceRule>(is_strict ? strict_grade : is_loose ? loose_grade : soft_grade);
}

std::unique_ptr<RewardFunction> make_multiple_choice(const MultipleChoiceArgs&, const RuleContext&) {
  return std::make_unique<ChoiceRule>(boxed_grade);
}

std::unique_ptr<RewardFunction> make_general_val(const GeneralValArgs&, const RuleContext&) {
  return std::make_unique<ChoiceRule>(right_grade);
}

}  // namespace roll
