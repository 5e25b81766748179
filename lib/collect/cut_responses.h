// Logs a warning when all responses of a domain in a step were cut off at the length limit, because their rewards are
// then meaningless. It warns once for each domain. Used by the training loop.
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
  /// `domains`: the domains to watch. `max_new_tokens`: length limit of a response, named in the warning.
  CutResponses(std::vector<std::string> domains, int64_t max_new_tokens)
      : domains_(std::move(domains)), max_new_tokens_(max_new_tokens) {}
  /// Watches all domains of a plan. If the plan plays environments, watches none: warn() then does nothing, because
  /// the metrics <domain>/environment/cut/* already show which limit ended the trajectories.
  explicit CutResponses(const SamplingPlan& plan) : max_new_tokens_(plan.training.max_new_tokens) {
    for (const auto& [domain, filter] : plan.filters)
      if (!plan.plays) domains_.push_back(domain);
  }

  /// Logs a warning for each domain whose metric <domain>/rollout/truncated_ratio is 1. `metrics`: of the step, already
  /// reduced over all ranks; a domain without the metric is skipped.
  void warn(const Metrics& metrics, int64_t step, Log& log);

 private:
  std::vector<std::string> domains_;
  int64_t max_new_tokens_;
  std::set<std::string> warned_domains_;
};

}  // namespace roll
