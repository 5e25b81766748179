#include "reward/reward.h"

#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"
#include "reward/pattern.h"
#include "reward/rules.h"

namespace roll {

namespace {

using Factory = std::function<std::unique_ptr<RewardFunction>(const RewardArgs&, const std::string& where)>;

const std::map<std::string, Factory> kFactories = {
    {"math_rule", make_math_rule}, {"exact_match", make_exact_match}, {"regex", make_regex}, {"command", make_command}};

// ROLL's worker classes by the last part of their path.
const std::map<std::string, std::string> kWorkerClasses = {{"MathRuleRewardWorker", "math_rule"}};

/// A rule with what all types share: format, hard rewards, length penalty.
class Shaped : public RewardFunction {
 public:
  Shaped(std::unique_ptr<RewardFunction> rule, const RewardArgs& args, int64_t response_length,
         const std::string& where)
      : rule_(std::move(rule)),
        hard_(args.reward_type == RewardScale::kHard),
        penalty_per_token_(args.response_length_penalty_coef /
                           static_cast<double>(std::max<int64_t>(1, response_length))) {
    if (args.format_pattern) format_.emplace(*args.format_pattern, where + "format_pattern", args.timeout_s);
  }

  RewardResult score(const RewardQuery& query) override {
    RewardResult result = rule_->score(query);
    if (hard_) result.reward = result.reward >= 0.5 ? 1 : 0;
    result.score = result.reward;
    if (format_) check_format(query, result);
    if (penalty_per_token_ != 0) penalise_length(query, result);
    return result;
  }

 private:
  void check_format(const RewardQuery& query, RewardResult& result) {
    bool matches = false;
    try {
      matches = format_->matches(query.response);
    } catch (const MatchFailed&) {
      result.detail["error"] = "timeout";
    }
    result.detail["format"] = matches;
    if (!matches) result.reward = 0;
  }

  void penalise_length(const RewardQuery& query, RewardResult& result) const {
    const double penalty = penalty_per_token_ * static_cast<double>(query.num_response_tokens);
    result.detail["length_penalty"] = json_float(penalty);
    result.reward -= penalty;
  }

  std::unique_ptr<RewardFunction> rule_;
  bool hard_;
  double penalty_per_token_;
  std::optional<AnswerPattern> format_;
};

void check(const RewardArgs& args, int64_t response_length, const std::string& where) {
  if (!(args.timeout_s > 0) || args.timeout_s > 86400)
    throw user_error("{}timeout_s = {}: must be a number of seconds above 0 (and at most a day)", where,
                     args.timeout_s);
  const double coefficient = args.response_length_penalty_coef;
  if (!std::isfinite(coefficient) || coefficient < 0)
    throw user_error("{}response_length_penalty_coef = {}: must be 0 or more", where, coefficient);
  if (coefficient > 0 && response_length <= 0)
    throw user_error("{}response_length_penalty_coef = {}: needs the longest response's tokens; set response_length",
                     where, coefficient);
}

}  // namespace

const std::vector<std::string>& reward_types() {
  static const std::vector<std::string> types = {"math_rule", "exact_match", "regex", "command"};
  return types;
}

std::string reward_type_of(const RewardArgs& args, const std::string& where) {
  if (args.type && kFactories.count(*args.type) != 0) return *args.type;
  const std::string known = fmt::format("{}", fmt::join(reward_types(), ", "));
  if (args.type)
    throw user_error("{}type = {}: no such reward; use one of {}{}", where, *args.type, known,
                     did_you_mean(*args.type, reward_types()));
  if (!args.worker_cls) throw user_error("{}type: missing; use one of {}", where, known);
  const auto found = kWorkerClasses.find(args.worker_cls->substr(args.worker_cls->rfind('.') + 1));
  if (found == kWorkerClasses.end())
    throw user_error("{}worker_cls = {}: no such reward here; set type to one of {} instead", where, *args.worker_cls,
                     known);
  return found->second;
}

std::unique_ptr<RewardFunction> make_reward(const RewardArgs& args, int64_t response_length, const std::string& where) {
  const std::string type = reward_type_of(args, where);
  check(args, response_length, where);
  return std::make_unique<Shaped>(kFactories.at(type)(args, where), args, response_length, where);
}

}  // namespace roll
