#include "reward/retrying.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace roll {

namespace {

constexpr double kFirstWait_s = 0.5, kLongestWait_s = 30, kLongestWish_s = 60;

class Retrying : public RewardFunction {
 public:
  Retrying(std::unique_ptr<RewardFunction> rule, RetryPlan plan) : rule_(std::move(rule)), plan_(std::move(plan)) {}

  void check_row(const Json& row) const override { rule_->check_row(row); }
  std::optional<std::string> gold_response(const Json& row) const override { return rule_->gold_response(row); }
  bool is_users_own() const override { return rule_->is_users_own(); }
  void check_files() const override { rule_->check_files(); }
  void prepare() override { rule_->prepare(); }

  RewardResult score(const RewardQuery& query) override {
    RewardResult result = rule_->score(query);
    int64_t retries = 0;
    while (retries < plan_.max_retries && is_worth_another(result) &&
           plan_.wait(retry_wait_s(retries + 1, result.retry_after_s, plan_.jitter()))) {
      result = rule_->score(query);
      ++retries;
    }
    if (retries > 0) result.detail["retries"] = retries;
    return result;
  }

 private:
  static bool is_worth_another(const RewardResult& result) {
    const auto failure = failure_of(result.detail);
    return failure && *failure != RewardFailure::kUnjudged;
  }

  std::unique_ptr<RewardFunction> rule_;
  RetryPlan plan_;
};

}  // namespace

double retry_wait_s(int64_t retry, std::optional<double> retry_after_s, double jitter) {
  const double wait_s =
      std::min(kLongestWait_s, std::ldexp(kFirstWait_s, static_cast<int>(std::min<int64_t>(retry, 100) - 1)));
  return std::max(wait_s * (0.5 + 0.5 * jitter), std::min(retry_after_s.value_or(0), kLongestWish_s));
}

std::unique_ptr<RewardFunction> with_retries(std::unique_ptr<RewardFunction> rule, RetryPlan plan) {
  return std::make_unique<Retrying>(std::move(rule), std::move(plan));
}

}  // namespace roll
