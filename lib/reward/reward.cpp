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

using Factory = std::function<std::unique_ptr<RewardFunction>(const RewardOptions&)>;

const std::map<std::string, Factory>& factories() {
  static const std::map<std::string, Factory> all = {{"math_rule", make_math_rule},
                                                     {"exact_match", make_exact_match},
                                                     {"regex", make_regex},
                                                     {"command", make_command}};
  return all;
}

/// A rule with what all types share: format, binary, length penalty.
class Shaped : public RewardFunction {
 public:
  Shaped(std::unique_ptr<RewardFunction> rule, const RewardOptions& options) : rule_(std::move(rule)), options_(options) {
    if (!options.format_pattern.empty()) format_.emplace(options.format_pattern, options.origin + ".format_pattern");
  }

  RewardResult score(const RewardQuery& query) override {
    RewardResult result = rule_->score(query);
    if (format_) check_format(query, result);
    if (options_.reward_type == "binary") result.reward = result.reward >= 0.5 ? 1 : 0;
    if (options_.response_length_penalty_coef != 0) penalise_length(query, result);
    return result;
  }

 private:
  void check_format(const RewardQuery& query, RewardResult& result) const {
    bool matches = false;
    try {
      matches = format_->matches(query.response);
    } catch (const MatchLimitReached&) {
      result.detail["error"] = "timeout";
    }
    result.detail["format"] = matches;
    if (!matches) result.reward = 0;
  }

  void penalise_length(const RewardQuery& query, RewardResult& result) const {
    const double share = static_cast<double>(query.num_response_tokens) / static_cast<double>(options_.max_response_tokens);
    const double penalty = options_.response_length_penalty_coef * share;
    result.detail["length_penalty"] = penalty;
    result.reward -= penalty;
  }

  std::unique_ptr<RewardFunction> rule_;
  RewardOptions options_;
  std::optional<Pattern> format_;
};

void check(const RewardOptions& o) {
  if (!(o.time_limit_s > 0) || std::isinf(o.time_limit_s))
    throw user_error("{}.time_limit_s = {}: must be a positive number of seconds", o.origin, o.time_limit_s);
  if (o.reward_type != "soft" && o.reward_type != "binary")
    throw user_error("{}.reward_type = {}: not known; use soft or binary", o.origin, o.reward_type);
  if (!std::isfinite(o.response_length_penalty_coef) || o.response_length_penalty_coef < 0)
    throw user_error("{}.response_length_penalty_coef = {}: must be 0 or more", o.origin, o.response_length_penalty_coef);
  if (o.response_length_penalty_coef > 0 && o.max_response_tokens <= 0)
    throw user_error("{}.response_length_penalty_coef = {}: needs the longest response's number of tokens; set response_length",
                     o.origin, o.response_length_penalty_coef);
}

}  // namespace

const std::vector<std::string>& reward_types() {
  static const std::vector<std::string> types = {"math_rule", "exact_match", "regex", "command"};
  return types;
}

std::unique_ptr<RewardFunction> make_reward(const RewardOptions& options) {
  const auto found = factories().find(options.type);
  if (found == factories().end())
    throw user_error("{} = {}: no such reward; use {}{}", options.origin, options.type, fmt::format("{}", fmt::join(reward_types(), ", ")),
                     did_you_mean(options.type, reward_types()));
  check(options);
  return std::make_unique<Shaped>(found->second(options), options);
}

}  // namespace roll
