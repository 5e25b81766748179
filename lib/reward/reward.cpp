#include "reward/reward.h"

#include <cmath>
#include <optional>

#include "base/error.h"
#include "reward/pattern.h"
#include "reward/retrying.h"
#include "reward/shared.h"

namespace roll {

namespace {

RewardResult within_bounds(RewardResult result) {
  for (const double number : {result.reward, result.score})
    if (!(std::abs(number) <= kLargestReward))
      return failed_reward(RewardFailure::kUnparsable,
                           fmt::format("reward = {}: must be finite and within +-{}", number, kLargestReward));
  return result;
}

double hardened(double number) {
  return number >= 0.5 ? 1 : 0;
}

/// A rule with what all types share: format, hard rewards, length penalty.
class Shaped : public RewardFunction {
 public:
  Shaped(std::unique_ptr<RewardFunction> rule, const RewardArgs& args, int64_t response_length,
         const std::string& where)
      : rule_(std::move(rule)),
        hard_(args.reward_type == RewardScale::kHard),
        penalty_per_token_(args.response_length_penalty_coef /
                           static_cast<double>(std::max<int64_t>(1, response_length))) {
    if (args.format_pattern)
      format_.emplace(*args.format_pattern, where + "format_pattern", args.timeout_s.value_or(Patience().timeout_s));
  }

  void prepare() override { rule_->prepare(); }

  RewardResult score(const RewardQuery& query) override {
    RewardResult result = within_bounds(rule_->score(query));
    if (failure_of(result.detail)) return result;
    if (hard_) result.reward = hardened(result.reward), result.score = hardened(result.score);
    try {
      if (format_) check_format(query, result);
    } catch (const MatchFailed&) {
      return timed_out();
    }
    if (penalty_per_token_ != 0) penalise_length(query, result);
    return within_bounds(std::move(result));
  }

 private:
  void check_format(const RewardQuery& query, RewardResult& result) {
    const bool matches = format_->matches(query.response);
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

const RewardType& chosen_type(const RewardArgs& args, const std::string& where) {
  const std::string known = fmt::format("{}", fmt::join(Words<RewardType>::all(), ", "));
  if (!args.type && !args.worker_cls) throw user_error("{}type: missing; use one of {}", where, known);
  if (!args.type)
    throw user_error("{}worker_cls = {}: no such reward here; set type to one of {} instead", where, *args.worker_cls,
                     known);
  const auto meant = args.worker_cls ? type_of_worker_class(*args.worker_cls) : std::nullopt;
  if (meant && name_of(*meant) != name_of(*args.type))
    throw user_error("{}worker_cls = {}: means type {}, but type is {}; keep one of the two", where, *args.worker_cls,
                     name_of(*meant), name_of(*args.type));
  return *args.type;
}

void check_length_penalty(const RewardArgs& args, int64_t response_length, const std::string& where) {
  if (args.response_length_penalty_coef > 0 && response_length <= 0)
    throw user_error("{}response_length_penalty_coef = {}: needs the longest response's tokens; set response_length",
                     where, args.response_length_penalty_coef);
}

}  // namespace

std::unique_ptr<RewardFunction> make_reward(const RewardArgs& args, int64_t response_length, const std::string& where,
                                            std::shared_ptr<SharedByWorkers> shared) {
  const RewardType& type = chosen_type(args, where);
  check_length_penalty(args, response_length, where);
  if (!shared) shared = std::make_shared<SharedByWorkers>();
  const Patience usual = usual_patience(type);
  auto rule = make_rule(type, {args.timeout_s.value_or(usual.timeout_s), where, shared});
  rule = with_retries(std::move(rule), {.max_retries = args.max_retries.value_or(usual.max_retries),
                                        .wait = [shared](double seconds) { return shared->ending.sleep(seconds); },
                                        .jitter = [shared] { return shared->jitter(); }});
  return std::make_unique<Shaped>(std::move(rule), args, response_length, where);
}

}  // namespace roll
