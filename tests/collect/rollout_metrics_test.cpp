#include "collect/rollout_metrics.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

RolloutRecord record(const std::string& domain, double score, size_t length, const std::string& finish_reason) {
  RolloutRecord record;
  record.domain = domain;
  record.tag = domain;
  record.score = score;
  record.reward = score - 5;  // metrics of verdicts read scores
  record.response_ids.assign(length, 1);
  record.finish_reason = finish_reason;
  return record;
}

const std::vector<RolloutRecord> kRecords = {record("a@b", 1, 4, "stop"), record("a@b", 0.5, 2, "length"),
                                             record("c", 2, 3, "stop"), record("c", 0, 7, "stop_string")};

}  // namespace

TEST_CASE("val_correct is the share of scores from 1 on, of all and of each tag, whatever is in its name", "[train]") {
  const Metrics metrics = validation_metrics(kRecords);
  CHECK(metric_value(metrics, "val_correct/all/mean") == 0.5);
  CHECK(metric_value(metrics, "val_correct/a@b/mean") == 0.5);
  CHECK(metric_value(metrics, "val_correct/c/mean") == 0.5);
  CHECK(metric_value(metrics, "val_score/all/mean") == 0.875);
  CHECK(metric_value(metrics, "val_score/a@b/mean") == 0.75);
  CHECK(metric_value(metrics, "val_score/c/mean") == 1);
  CHECK(metric_value(metrics, "val_response_length/mean") == 4);
}

TEST_CASE("a tag with a name of ours, as all, counts once and apart", "[train]") {
  const std::vector<RolloutRecord> records = {record("all", 1, 4, "stop"), record("all (tag)", 0, 4, "stop"),
                                              record("b", 0, 4, "stop")};
  const Metrics metrics = validation_metrics(records);
  CHECK(metric_value(metrics, "val_correct/all/mean") == Approx(1. / 3));
  CHECK(metric_value(metrics, "val_correct/all (tag)/mean") == 1);
  CHECK(metric_value(metrics, "val_correct/all (tag) (tag)/mean") == 0);
  CHECK(metric_value(metrics, "val_score/b/mean") == 0);
}

TEST_CASE("the error of a validation's mean takes the samples of a prompt as one cluster", "[train]") {
  // statsmodels 0.15.0: OLS(y, ones).fit(cov_type="cluster", cov_kwds={"groups": prompt}, use_t=False).bse
  std::vector<JudgedSample> samples;
  const std::vector<std::pair<int64_t, double>> scores = {{0, 1}, {0, 1}, {0, 0.5}, {1, 0}, {1, 0},
                                                          {2, 2}, {2, 0}, {2, 1},   {3, 0}, {7, 0.25}};
  for (const auto& [prompt, score] : scores)
    samples.push_back({.prompt = prompt, .tag = prompt < 2 ? "all" : "", .score = score});
  samples.push_back({.prompt = 1, .tag = "all", .is_judged = false, .score = 9});
  const Metrics errors = validation_errors(samples);
  CHECK(metric_value(errors, "val_score/all/se") == Approx(0.22318714120665636));
  CHECK(metric_value(errors, "val_correct/all/se") == Approx(0.16733200530681508));
  CHECK(metric_value(errors, "val_score/all (tag)/se") == Approx(0.4));
  CHECK(
      validation_errors({{.prompt = 3, .score = 1}, {.prompt = 3, .score = 0}}).empty());  // one prompt tells no error
}

TEST_CASE("lengths and ages of trajectories are told of the model's tokens alone", "[train]") {
  RolloutRecord played = record("", 1, 10, "stop");
  played.turns = {{.num_tokens = 2, .num_environment_tokens = 5}, {.num_tokens = 3}};
  played.weights = {{.version = 0, .num_tokens = 1}, {.version = 1, .num_tokens = 5}, {.version = 2, .num_tokens = 4}};
  played.step = 3;
  CHECK(played.num_model_tokens() == 5);
  CHECK(judged_sample(played).num_tokens == 5);
  CHECK(metric_value(validation_metrics({played}), "val_response_length/mean") == 5);
  const Metrics ages = staleness_metrics({played});  // of the runs' tokens 1, 1 and 3 are the model's
  CHECK(metric_value(ages, "rollout/staleness/mean") == Approx(3. / 5));
  CHECK(metric_value(ages, "rollout/stale_tokens") == Approx(2. / 5));
}

TEST_CASE("a validation tells how its responses differ, and how many prompts they answer", "[train]") {
  std::vector<RolloutRecord> records = kRecords;  // verdicts 1, 0.5, 2, 0: mean 0.875
  records[1].sample_index = 1;                    // to the prompt of the first one
  const Metrics metrics = validation_metrics(records);
  CHECK(metric_value(metrics, "val_score/all/std") == Approx(0.8539125638));
  CHECK(metric_value(metrics, "val_correct/all/std") == Approx(0.5773502692));
  CHECK(metric_value(metrics, "val_score/c/std") == Approx(1.4142135624));
  CHECK(metric_value(metrics, "val_prompts/all") == 3);
  CHECK(metric_value(metrics, "val_prompts/a@b") == 1);
}

TEST_CASE("staleness is told by token, baselines apart", "[train]") {
  std::vector<RolloutRecord> records = {record("a", 1, 4, "stop"), record("a", 1, 6, "stop"),
                                        record("a", 1, 100, "stop")};
  for (RolloutRecord& record : records) record.step = 5;
  records[1].weights = {
      {.version = 2, .num_tokens = 1}, {.version = 3, .num_tokens = 3}, {.version = 4, .num_tokens = 2}};
  records[2].is_baseline = true;
  const Metrics metrics = staleness_metrics(records);
  CHECK(metric_value(metrics, "rollout/staleness/mean") == 0.5);
  CHECK(metric_value(metrics, "rollout/staleness/max") == 2);
  CHECK(metric_value(metrics, "rollout/stale_tokens") == 0.4);
}

TEST_CASE("the share of each way to end, of all responses and of each domain", "[train]") {
  const Metrics metrics = rollout_metrics(kRecords);
  CHECK(metric_value(metrics, "rollout/finish_reason/stop") == 0.5);
  CHECK(metric_value(metrics, "rollout/finish_reason/length") == 0.25);
  CHECK(metric_value(metrics, "rollout/truncated_ratio") == 0.25);
  CHECK(metric_value(metrics, "rollout/finish_reason/abort") == 0);
  CHECK(metric_value(metrics, "a@b/rollout/finish_reason/length") == 0.5);
  CHECK(metric_value(metrics, "c/rollout/finish_reason/stop_string") == 0.5);
}

TEST_CASE("repeated text is the share of 4-token sequences that came before, of the model's tokens", "[train]") {
  const auto share = [](RolloutRecord record) {
    return metric_value(rollout_metrics({std::move(record)}), "rollout/repeated_text");
  };
  RolloutRecord plain = record("", 1, 9, "stop");
  plain.response_ids = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  CHECK(share(plain) == 0);
  plain.response_ids = {1, 2, 3, 4, 1, 2, 3, 4, 1};  // six sequences, two of which are new no more
  CHECK(share(plain) == Approx(2. / 6));
  plain.response_ids = {1, 2, 3};
  CHECK(share(plain) == 0);
  RolloutRecord played = record("", 1, 12, "stop");
  played.response_ids = {1, 2, 7, 7, 7, 7, 7, 7, 7, 7, 3, 4};  // the environment's sevens do not count
  played.turns = {{.num_tokens = 2, .num_environment_tokens = 8}, {.num_tokens = 2}};
  CHECK(share(played) == 0);
}

}  // namespace roll
