#include "reward/shaped.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "reward/pattern.h"

namespace roll {

namespace {

/// Returns the response's length as a share of response_length.
double length_share(int64_t num_tokens, int64_t response_length) {
  return static_cast<double>(num_tokens) / static_cast<double>(std::max<int64_t>(1, response_length));
}

/// ROLL's penalty for crossthinkqa, where too little thinking is the fault: 0.5 up to 100 tokens, then linear down to 0
/// at 400. (ROLL counts the batch's padding as tokens, so there it is nearly always 0.)
double shortness(int64_t num_tokens) {
  constexpr int64_t kShort = 100, kLong = 400;
  const int64_t missing = std::clamp<int64_t>(kLong - num_tokens, 0, kLong - kShort);
  return 0.5 * static_cast<double>(missing) / static_cast<double>(kLong - kShort);
}

RewardResult within_bounds(RewardResult result) {
  for (const double number : {result.reward, result.score})
    if (!(std::abs(number) <= kLargestReward))
      return failed_reward(RewardFailure::kUnparsable,
                           fmt::format("reward = {}: must be finite and within +-{}", number, kLargestReward));
  return result;
}

class Shaped : public RewardFunction {
 public:
  Shaped(std::unique_ptr<RewardFunction> rule, const RewardTraits& traits, const RewardArgs& args,
         int64_t response_length, const std::string& where)
      : rule_(std::move(rule)),
        traits_(traits),
        args_(args),
        response_length_(response_length),
        max_repetition_penalty_(args.repetition_penalty.max_penalty.value_or(traits.repetition_penalty)) {
    if (args.format_pattern)
      format_.emplace(*args.format_pattern, where + "format_pattern", args.timeout_s.value_or(Patience().timeout_s));
  }

  void check_row(const Json& row) const override { rule_->check_row(row); }
  std::optional<std::string> gold_response(const Json& row) const override { return rule_->gold_response(row); }
  bool is_user_code() const override { return rule_->is_user_code(); }
  void check_files() const override { rule_->check_files(); }
  void prepare() override { rule_->prepare(); }
  bool takes_many() const override { return rule_->takes_many(); }

  RewardResult score(const RewardQuery& query) override { return shape(query, rule_->score(query)); }
  std::vector<RewardResult> score_all(const RewardQueries& queries) override {
    std::vector<RewardResult> results = rule_->score_all(queries);
    for (size_t i = 0; i < results.size(); ++i) results[i] = shape(*queries[i], std::move(results[i]));
    return results;
  }

 private:
  RewardResult shape(const RewardQuery& query, RewardResult verdict) {
    RewardResult result = within_bounds(std::move(verdict));
    if (reward_failure(result.detail)) return result;
    if (args_.reward_type == RewardScale::kHard) harden(result), result.parts.clear();
    if (result.parts.empty()) result.parts = {{.weight = 1, .reward = result.reward}};
    try {
      if (format_) judge_format(query, result);
    } catch (const MatchFailed&) {
      return timed_out();
    }
    if (args_.response_length_penalty_coef != 0) penalise_length(query, result);
    if (args_.overlong_buffer.enable)
      add(result, "overlong", overlong_reward(args_.overlong_buffer, query.num_response_tokens, response_length_));
    if (max_repetition_penalty_ != 0)
      add(result, "repetition",
          max_repetition_penalty_ * repeated_share(query.response, args_.repetition_penalty.ngram_size));
    return within_bounds(std::move(result));
  }

  void judge_format(const RewardQuery& query, RewardResult& result) {
    const bool matches = format_->matches(query.response);
    result.detail["format"] = matches;
    if (args_.format_reward) return add(result, matches ? *args_.format_reward : 0);
    if (matches) return;
    result.reward = 0;
    for (RewardPart& part : result.parts) part.reward = 0;
  }

  void penalise_length(const RewardQuery& query, RewardResult& result) const {
    const double share = traits_.favours_long_responses ? shortness(query.num_response_tokens)
                                                        : length_share(query.num_response_tokens, response_length_);
    const double penalty = args_.response_length_penalty_coef * share;
    result.detail["length_penalty"] = json_float(penalty);
    add(result, -penalty);
  }

  static void add(RewardResult& result, double reward) {
    result.reward += reward;
    result.parts.push_back({.weight = 1, .reward = reward});
  }
  static void add(RewardResult& result, const char* name, double reward) {
    result.detail[name] = json_float(reward + 0.0);  // no -0
    add(result, reward);
  }

  std::unique_ptr<RewardFunction> rule_;
  RewardTraits traits_;
  RewardArgs args_;
  int64_t response_length_;
  double max_repetition_penalty_;
  std::optional<AnswerPattern> format_;
};

}  // namespace

int64_t num_reward_parts(const RewardArgs& args) {
  const double repetition = args.type ? reward_traits(*args.type).repetition_penalty : 0;
  const int64_t num_rule_parts =
      args.reward_type == RewardScale::kHard ? 1 : std::max<int64_t>(1, std::ssize(args.terms));
  return num_rule_parts + (args.format_pattern && args.format_reward) + (args.response_length_penalty_coef != 0) +
         args.overlong_buffer.enable + (args.repetition_penalty.max_penalty.value_or(repetition) != 0);
}

void harden(RewardResult& result) {
  for (double* const number : {&result.reward, &result.score}) *number = *number >= 0.5 ? 1 : 0;
}

std::unique_ptr<RewardFunction> shaped(std::unique_ptr<RewardFunction> rule, const RewardTraits& traits,
                                       const RewardArgs& args, int64_t response_length, const std::string& where) {
  return std::make_unique<Shaped>(std::move(rule), traits, args, response_length, where);
}

}  // namespace roll
