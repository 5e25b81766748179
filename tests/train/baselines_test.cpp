#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "collect/rollout_metrics.h"
#include "dist/single.h"
#include "experience/build.h"
#include "step/step_index.h"
#include "tensors.h"

namespace roll {

namespace {

/// Two groups of two responses with rewards 1, 0 and 0.5, 0.25, and a baseline each.
std::vector<RolloutRecord> records_with_baselines(double first, double second) {
  std::vector<RolloutRecord> records;
  const auto add = [&](int64_t group, int64_t sample, double reward) {
    RolloutRecord record{.group_index = group, .sample_index = sample, .is_baseline = sample == 2};
    record.domain = "d";
    record.finish_reason = sample == 2 ? "length" : "stop";
    record.prompt_ids = {1};
    record.response_ids = {2, 3};
    record.log_probs = {-1, -2};
    record.score = record.reward = reward;
    records.push_back(record);
  };
  add(0, 0, 1), add(0, 1, 0), add(0, 2, first), add(1, 0, 0.5), add(1, 1, 0.25), add(1, 2, second);
  return records;
}

Experience experience_from(std::vector<RolloutRecord> records) {
  const auto alone = make_single_communicator();
  const StepIndex step = make_step_index(records, *alone);
  return make_experience(records, step.facts, step.holders.rank_share(0));
}

Experience completed(const std::vector<RolloutRecord>& records) {
  Experience e = experience_from(records);
  const ExperienceConfig config{.adv_estimator = "remax"};
  ExperienceState state(config);
  complete_experience(e, config, 2, state);
  return e;
}

}  // namespace

TEST_CASE("baselines are no samples, and their rewards are taken off their group's", "[train]") {
  const Experience e = completed(records_with_baselines(0.25, 0.5));
  CHECK(e.num_sequences() == 4);
  CHECK(e.sequence_index == std::vector<int64_t>{0, 1, 2, 3});
  CHECK(e.group_index == std::vector<int64_t>{0, 0, 1, 1});
  CHECK(at::equal(e.advantages, testing::list({0.75, 0.75, 0, -0.25, -0.25, 0, 0, 0, 0, -0.25, -0.25, 0})));
  CHECK(at::equal(experience_from(records_with_baselines(0, 0)).sampler_log_probs,
                  testing::list({-1, -2, 0, -1, -2, 0, -1, -2, 0, -1, -2, 0})));
}

TEST_CASE("a group whose baseline nobody could judge teaches nothing", "[train]") {
  auto records = records_with_baselines(0.25, 0);
  records[5].is_judged = false;
  const Experience e = completed(records);
  CHECK(column(e.responses, &ResponseFacts::is_judged) == std::vector<bool>{1, 1, 0, 0});
  CHECK(at::equal(e.advantages, testing::list({0.75, 0.75, 0, -0.25, -0.25, 0, 0, 0, 0, 0, 0, 0})));
}

TEST_CASE("an estimator that wants baselines does not do without", "[train]") {
  auto records = records_with_baselines(0, 0);
  records.pop_back();
  CHECK_THROWS_AS(completed(records), Bug);
}

TEST_CASE("baselines are told apart in the metrics of rollouts", "[train]") {
  auto records = records_with_baselines(0.25, 0.75);
  const Metrics metrics = rollout_metrics(records);
  CHECK(metric_value(metrics, "rollout/finish_reason/stop") == 1);
  CHECK(metric_value(metrics, "rollout/baseline_score") == 0.5);
  CHECK(metric_value(metrics, "d/rollout/baseline_score") == 0.5);
  records[5].is_judged = false;
  const Metrics without_one = rollout_metrics(records);
  CHECK(metric_value(without_one, "rollout/baseline_score") == 0.25);
}

}  // namespace roll
