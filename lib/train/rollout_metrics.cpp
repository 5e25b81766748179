#include "train/rollout_metrics.h"

#include <fmt/format.h>

#include <cmath>

namespace roll {

namespace {

void add_mean_max_min(const std::string& name, double value, Metrics& metrics) {
  for (const char* reduction : {"mean", "max", "min"})
    metrics.add(fmt::format("{}/{}@{}", name, reduction, reduction), value);
}

/// The reasons that a response may have, so that a curve of one is there from the first step.
void add_finish_reason(const std::string& prefix, const std::string& reason, Metrics& metrics) {
  for (const char* known : {"stop", "length", "stop_string", "abort"})
    metrics.add(fmt::format("{}rollout/finish_reason/{}@mean", prefix, known), reason == known);
}

}  // namespace

void add_rollout_metrics(const std::vector<RolloutRecord>& records, Metrics& metrics) {
  for (const auto& record : records) {
    const std::string domain = record.domain + "/";
    add_finish_reason("", record.finish_reason, metrics);
    add_finish_reason(domain, record.finish_reason, metrics);
    add_mean_max_min(domain + "critic/score", record.score, metrics);
    add_mean_max_min(domain + "token/response_length", static_cast<double>(record.response_ids.size()), metrics);
  }
}

void add_validation_metrics(const std::vector<RolloutRecord>& records, Metrics& metrics) {
  const auto add = [&](const std::string& of, const RolloutRecord& record) {
    metrics.add(fmt::format("val_correct/{}/mean@mean", of), record.score >= 1);
    metrics.add(fmt::format("val_score/{}/mean@mean", of), record.score);
  };
  for (const auto& record : records) {
    add("all", record);
    if (!record.tag.empty()) add(record.tag, record);
    metrics.add("val_response_length/mean", static_cast<double>(record.response_ids.size()));
  }
}

double value_of(const Metrics& metrics, const std::string& name) {
  for (const auto& [shown, value] : metrics.values())
    if (shown == name) return value;
  return std::nan("");
}

}  // namespace roll
