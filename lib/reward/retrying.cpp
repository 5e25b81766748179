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
  bool is_user_code() const override { return rule_->is_user_code(); }
  void check_files() const override { rule_->check_files(); }
  void prepare() override { rule_->prepare(); }
  bool takes_many() const override { return rule_->takes_many(); }

  RewardResult score(const RewardQuery& query) override { return std::move(score_all({&query}).front()); }
  std::vector<RewardResult> score_all(const RewardQueries& queries) override {
    std::vector<RewardResult> results = rule_->score_all(queries);
    std::vector<size_t> failed;
    for (size_t i = 0; i < results.size(); ++i) failed.push_back(i);
    for (int64_t retry = 1; retry <= plan_.max_retries; ++retry) {
      std::erase_if(failed, [&](size_t i) { return !is_worth_another(results[i]); });
      if (failed.empty()) break;
      std::optional<double> wish_s;
      for (const size_t i : failed) wish_s = std::max(wish_s, results[i].retry_after_s);
      if (!plan_.wait(retry_wait_s(retry, wish_s, plan_.jitter()))) break;
      RewardQueries retried_queries;
      for (const size_t i : failed) retried_queries.push_back(queries[i]);
      std::vector<RewardResult> retried_results = rule_->score_all(retried_queries);
      for (size_t k = 0; k < failed.size(); ++k) {
        results[failed[k]] = std::move(retried_results[k]);
        results[failed[k]].detail["retries"] = retry;
      }
    }
    return results;
  }

 private:
  static bool is_worth_another(const RewardResult& result) {
    const auto failure = reward_failure(result.detail);
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
