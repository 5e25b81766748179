// Warns once per domain, for the training loop, when all responses of a step were cut off at the length limit: their
// rewards then say nothing about the prompts.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "settings/sampling_plan.h"
#include "track/metrics.h"

namespace roll {

class CutResponses {
 public:
  /// `domains`: all domains. `max_new_tokens`: the length limit of responses.
  CutResponses(std::vector<std::string> domains, int64_t max_new_tokens)
      : domains_(std::move(domains)), max_new_tokens_(max_new_tokens) {}
  /// Watches nothing if the plan plays environments: their metric environment/cut names what cut them.
  explicit CutResponses(const SamplingPlan& plan) : max_new_tokens_(plan.training.max_new_tokens) {
    for (const auto& [domain, filter] : plan.filters)
      if (!plan.plays) domains_.push_back(domain);
  }

  /// `metrics` must hold <domain>/rollout/truncated_ratio of all ranks.
  void warn(const Metrics& metrics, int64_t step, Log& log);

 private:
  std::vector<std::string> domains_;
  int64_t max_new_tokens_;
  std::set<std::string> warned_domains_;  // domains warned of
};

}  // namespace roll
