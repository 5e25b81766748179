#include "reward/retrying.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "base/error.h"
#include "reward/queries.h"
#include "reward/reward_pool.h"

namespace roll {

namespace {

/// Fails as it is told, then judges with 1.
class Failing : public RewardFunction {
 public:
  Failing(std::vector<RewardResult> failures, int64_t& num_asked)
      : failures_(std::move(failures)), num_asked_(num_asked) {}

  RewardResult score(const RewardQuery&) override {
    const auto i = static_cast<size_t>(num_asked_++);
    return i < failures_.size() ? failures_[i] : judged(1);
  }

 private:
  std::vector<RewardResult> failures_;
  int64_t& num_asked_;
};

struct Tried {
  RewardResult result;
  int64_t num_asked = 0;
  std::vector<double> waits_s;
};

Tried try_with(const std::vector<RewardResult>& failures, int64_t max_retries, bool may_wait = true) {
  Tried tried;
  const auto rule =
      with_retries(std::make_unique<Failing>(failures, tried.num_asked), {.max_retries = max_retries,
                                                                          .wait =
                                                                              [&](double seconds) {
                                                                                tried.waits_s.push_back(seconds);
                                                                                return may_wait;
                                                                              },
                                                                          .jitter = [] { return 1.0; }});
  tried.result = rule->score({});
  return tried;
}

RewardResult unavailable(std::optional<double> retry_after_s = {}) {
  RewardResult result = failed_reward(RewardFailure::kUnavailable, "down");
  result.retry_after_s = retry_after_s;
  return result;
}

}  // namespace

TEST_CASE("a reward that could not be had is asked for again, after growing pauses", "[reward]") {
  const Tried mended = try_with({unavailable(), timed_out(), failed_reward(RewardFailure::kUnparsable, "hm")}, 3);
  CHECK(mended.result.reward == 1);
  CHECK(mended.num_asked == 4);
  CHECK(mended.waits_s == std::vector{0.5, 1.0, 2.0});
  CHECK(mended.result.detail["retries"] == 3);
  CHECK_FALSE(reward_failure(mended.result.detail));
  const Tried lost = try_with({unavailable(), unavailable(), timed_out()}, 2);
  CHECK(reward_failure(lost.result.detail) == RewardFailure::kTimeout);
  CHECK(lost.num_asked == 3);
  CHECK(lost.result.detail["retries"] == 2);
}

TEST_CASE("what needs no retry has none", "[reward]") {
  const Tried right = try_with({}, 3);
  CHECK(right.num_asked == 1);
  CHECK_FALSE(right.result.detail.contains("retries"));
  CHECK(try_with({failed_reward(RewardFailure::kUnjudged, "no reference")}, 3).num_asked == 1);
  CHECK(try_with({unavailable()}, 0).num_asked == 1);
  const Tried ended = try_with({unavailable()}, 3, false);
  CHECK(ended.num_asked == 1);
  CHECK(ended.waits_s.size() == 1);
  CHECK(reward_failure(ended.result.detail) == RewardFailure::kUnavailable);
}

TEST_CASE("a server's wish is the least pause, and pauses are bounded", "[reward]") {
  CHECK(try_with({unavailable(7), unavailable(0.01)}, 3).waits_s == std::vector{7.0, 1.0});
  CHECK(retry_wait_s(1, 1e9, 0) == 60);
  CHECK(retry_wait_s(1, {}, 0) == 0.25);
  CHECK(retry_wait_s(100'000'000'000, {}, 1) == 30);
  CHECK(retry_wait_s(100'000'000'000, {}, 0) == 15);
}

TEST_CASE("each type has its usual patience, which keys overrule", "[reward]") {
  CHECK(usual_patience(ExactMatchArgs()).max_retries == 0);
  CHECK(usual_patience(ExactMatchArgs()).timeout_s == 10);
  CHECK(usual_patience(LlmJudgeArgs()).max_retries == 3);
  CHECK(usual_patience(LlmJudgeArgs()).timeout_s == 60);
  LlmJudgeArgs program;
  program.judge_model_type = JudgeModelType::kCommand;
  CHECK(usual_patience(program).max_retries == 0);
  RewardArgs args = roll::program("read x; echo '{\"reward\": 1}'; read x; exit 1");
  args.max_retries = 1;
  const auto reward = make_reward(args, 0, "");
  CHECK(reward->score(query_of("", "")).detail.contains("retries") == false);
  const RewardResult second = reward->score(query_of("", ""));
  CHECK(second.reward == 1);  // the program ended, and a fresh one answered
  CHECK(second.detail["retries"] == 1);
}

TEST_CASE("jitters differ, and are in 0..1", "[reward]") {
  SharedByWorkers shared;
  const double first = shared.jitter(), second = shared.jitter();
  CHECK(first != second);
  for (const double x : {first, second}) CHECK((x >= 0 && x < 1));
}

TEST_CASE("the pool's end wakes a worker that waits for another try", "[reward]") {
  RewardArgs args = program("read x; echo '{\"reward\": 1}'; exit 1");
  args.max_retries = 1000;
  args.on_reward_error = RewardErrorPolicy::kDrop;
  RewardPool pool(args, 0);  // without waking, its end would take an hour: this test would not end
  pool.submit(query_of("", ""));
  CHECK(pool.collect().at(0).reward == 1);
  const LlmJudgeArgs dead{.judge_model_name = "m", .judge_api_url = "http://127.0.0.1:1"};
  RewardArgs judge = args_of(dead);
  judge.max_retries = 1000;
  RewardPool waiting(judge, 0);
  waiting.submit(query_of("r", "t"));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

TEST_CASE("an error of the run wakes those who wait for another try", "[reward]") {
  // The second worker's question has no reference, which ends the run, while the first worker's server is dead.
  const LlmJudgeArgs dead{.judge_model_name = "m", .judge_api_url = "http://127.0.0.1:1"};
  RewardArgs args = args_of(dead);
  args.max_retries = 1000;
  args.world_size = 2;
  args.on_reward_error = RewardErrorPolicy::kStop;
  RewardPool pool(args, 0);
  pool.submit(query_of("r", "t"));
  pool.submit(query_of("r", ""));
  CHECK_THROWS_WITH(pool.collect(), Catch::Contains("on_reward_error = stop"));
}

TEST_CASE("the pool says what scoring took and how many waited", "[reward]") {
  const auto reward = program("while read x; do sleep 0.02; echo '{\"reward\": 1}'; done");
  RewardPool pool(reward, 0);
  for (int i = 0; i < 3; ++i) pool.submit(query_of("", ""));
  pool.collect();
  const RewardUse use = pool.take_statistics();
  CHECK(use.num_scored == 3);
  CHECK(use.total_s >= 0.06);
  CHECK(use.longest_s >= 0.02);
  CHECK(use.longest_s <= use.total_s);
  CHECK((use.most_waiting >= 2 && use.most_waiting <= 3));
  CHECK(pool.take_statistics().num_scored == 0);
}

}  // namespace roll
