#include "collect/rollout_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "collect/trajectory.h"
#include "evaluation/estimates.h"
#include "track/metric_reference.h"

namespace roll {

namespace {

/// Returns the tokens that the model sampled.
std::vector<int64_t> model_tokens(const RolloutRecord& record) {
  if (record.turns.empty()) return record.response_ids;
  std::vector<int64_t> tokens;
  auto begin = record.response_ids.begin();
  for (const Turn& turn : record.turns) {
    tokens.insert(tokens.end(), begin, begin + turn.num_tokens);
    begin += turn.num_tokens + turn.num_environment_tokens;
  }
  return tokens;
}

/// Returns the share of sequences of four tokens that occur earlier in the text, as in a text that loops.
double repeated_share(const std::vector<int64_t>& tokens) {
  constexpr int64_t kLength = 4;
  const int64_t count = std::ssize(tokens) - kLength + 1;
  if (count < 1) return 0;
  std::vector<uint64_t> hashes(count, 0);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = i; j < i + kLength; ++j)
      hashes[i] = (hashes[i] ^ static_cast<uint64_t>(tokens[j])) * 0x9e3779b97f4a7c15u;
  std::ranges::sort(hashes);
  const auto repeated = hashes.end() - std::unique(hashes.begin(), hashes.end());
  return static_cast<double>(repeated) / static_cast<double>(count);
}

/// Adds every possible reason, so that each curve exists from the first step.
void add_finish_reason(const std::string& prefix, const std::string& reason, Metrics& metrics) {
  for (const char* known : {"stop", "length", "stop_string", "abort"})
    metrics.add(fmt::format("{}rollout/finish_reason/{}@mean", prefix, known), reason == known);
  metrics.add(prefix + "rollout/truncated_ratio@mean", reason == "length");
}

}  // namespace

void add_group_metrics(const std::map<std::string, GroupQuota::Counts>& counts, Metrics& metrics) {
  for (const auto& [domain, domain_counts] : counts) {
    const std::pair<const char*, int64_t> named_counts[] = {{"groups_sampled", domain_counts.sampled},
                                                            {"groups_dropped", domain_counts.dropped},
                                                            {"groups_aborted", domain_counts.aborted}};
    for (const auto& [name, count] : named_counts) {
      metrics.add(fmt::format("rollout/{}@sum", name), static_cast<double>(count));
      metrics.add(fmt::format("{}/rollout/{}@mean", domain, name), static_cast<double>(count));
    }
  }
}

void add_passed_over(const std::map<std::string, int64_t>& rows, Metrics& metrics) {
  for (const auto& [domain, count] : rows) {
    metrics.add("rollout/rows_passed_over@sum", static_cast<double>(count));
    metrics.add(fmt::format("{}/rollout/rows_passed_over@mean", domain), static_cast<double>(count));
  }
}

/// Adds the metrics of a trajectory; if its environment failed, only the failure.
void add_trajectory(const std::string& prefix, const RolloutRecord& record, Metrics& metrics) {
  const std::string environment_prefix = prefix + "environment/";
  for (const auto& [fault, name] : enum_names(EnvironmentFault()))
    metrics.add(fmt::format("{}failed/{}@sum", environment_prefix, name),
                record.reward_detail.value("environment", "") == name);
  if (!record.is_judged) return;
  const auto success = record.reward_detail.find("success");
  if (success != record.reward_detail.end()) metrics.add(environment_prefix + "success@mean", success->get<bool>());
  for (const char* counter : {"tool_calls", "tool_errors"})
    if (const auto count = record.reward_detail.find(counter); count != record.reward_detail.end())
      metrics.add(fmt::format("{}{}@mean", environment_prefix, counter), count->get<double>());
  for (const auto& [cut, name] : enum_names(TrajectoryCut()))
    metrics.add(fmt::format("{}cut/{}@mean", environment_prefix, name), record.reward_detail.value("cut", "") == name);
  metrics.add(environment_prefix + "turns@mean", static_cast<double>(record.turns.size()));
  double environment_tokens = 0;
  for (const Turn& turn : record.turns) {
    metrics.add(environment_prefix + "invalid_actions@mean", !turn.is_valid);
    metrics.add(environment_prefix + "turn_length@mean", static_cast<double>(turn.num_tokens));
    environment_tokens += static_cast<double>(turn.num_environment_tokens);
  }
  metrics.add(environment_prefix + "tokens@mean", environment_tokens);
}

Metrics rollout_metrics(const std::vector<RolloutRecord>& records) {
  Metrics metrics;
  for (const auto& record : records) {
    const double repeated = repeated_share(model_tokens(record));
    for (const std::string& prefix : {std::string(), record.domain + "/"}) {
      if (!record.is_baseline) add_finish_reason(prefix, record.finish_reason, metrics);
      if (!record.is_baseline) metrics.add(prefix + "rollout/repeated_text@mean", repeated);
      if (!record.turns.empty() && !record.is_baseline) add_trajectory(prefix, record, metrics);
      if (record.is_baseline && record.is_judged) metrics.add(prefix + "rollout/baseline_score@mean", record.score);
    }
  }
  return metrics;
}

Metrics staleness_metrics(const std::vector<RolloutRecord>& records) {
  Metrics metrics;
  for (const RolloutRecord& record : records) {
    if (record.is_baseline) continue;
    std::vector<WeightsRun> runs = record.weights;
    if (runs.empty()) runs = {{.version = record.step - 1, .num_tokens = std::ssize(record.response_ids)}};
    int64_t begin = 0;
    for (const auto& [version, num_tokens] : runs) {
      const int64_t drawn = record.num_model_tokens(begin, begin + num_tokens);
      begin += num_tokens;
      if (drawn == 0) continue;  // environment tokens only
      const auto age = static_cast<double>(record.step - 1 - version), weight = static_cast<double>(drawn);
      metrics.add("rollout/staleness/mean@mean", age, weight);
      metrics.add("rollout/staleness/max@max", age);
      metrics.add("rollout/stale_tokens@mean", age > 0, weight);
    }
  }
  return metrics;
}

Metrics validation_metrics(const std::vector<RolloutRecord>& records) {
  Metrics metrics;
  const auto add = [&](const std::string& tag_or_all, const RolloutRecord& record) {
    if (!record.is_judged) return;
    for (const char* statistic : {"mean", "std"}) {
      metrics.add(fmt::format("val_correct/{}/{}@{}", tag_or_all, statistic, statistic), record.score >= 1);
      metrics.add(fmt::format("val_score/{}/{}@{}", tag_or_all, statistic, statistic), record.score);
    }
    metrics.add(fmt::format("val_prompts/{}@sum", tag_or_all), record.sample_index == 0);
  };
  for (const auto& record : records) {
    add("all", record);
    if (!record.tag.empty()) add(tag_in_metric(record.tag), record);
    metrics.add("val_response_length/mean", static_cast<double>(record.num_model_tokens()));
    if (!record.turns.empty()) metrics.add("val_turns/mean", static_cast<double>(record.turns.size()));
  }
  return metrics;
}

JudgedSample judged_sample(const RolloutRecord& record) {
  JudgedSample sample{.prompt = record.group_index,
                      .number = record.sample_index,
                      .domain = record.domain,
                      .tag = record.tag,
                      .is_judged = record.is_judged,
                      .score = record.score,
                      .num_tokens = record.num_model_tokens(),
                      .is_truncated = record.finish_reason == "length"};
  const auto answer = record.reward_detail.find("answer");
  if (answer != record.reward_detail.end() && answer->is_string()) sample.answer = answer->get<std::string>();
  return sample;
}

Metrics validation_errors(const std::vector<JudgedSample>& samples) {
  std::map<std::string, std::map<int64_t, PromptSum>> correct, score;
  for (const JudgedSample& sample : samples) {
    if (!sample.is_judged) continue;
    for (const std::string& tag_or_all : {std::string("all"), sample.tag.empty() ? "" : tag_in_metric(sample.tag)}) {
      if (tag_or_all.empty()) continue;
      correct[tag_or_all][sample.prompt].add(sample.score >= 1);
      score[tag_or_all][sample.prompt].add(sample.score);
    }
  }
  Metrics metrics;
  for (const auto& [name, sums] : {std::pair("val_correct", &correct), std::pair("val_score", &score)})
    for (const auto& [tag_or_all, prompts] : *sums)
      if (const auto error = clustered_error(prompts))
        metrics.add(fmt::format("{}/{}/se@mean", name, tag_or_all), *error);
  return metrics;
}

double metric_value(const Metrics& metrics, const std::string& name) {
  for (const auto& [shown, value] : metrics.values())
    if (shown == name) return value;
  return std::nan("");
}

}  // namespace roll
