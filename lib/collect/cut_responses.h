// A step that was cut off whole says nothing about its prompts: told in words, once a domain.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "track/metrics.h"

namespace roll {

class CutResponses {
 public:
  /// `domains`: all; `max_new_tokens`: at which responses are cut off.
  CutResponses(std::vector<std::string> domains, int64_t max_new_tokens)
      : domains_(std::move(domains)), max_new_tokens_(max_new_tokens) {}

  /// `metrics` has <domain>/rollout/truncated_ratio of all ranks.
  void warn(const Metrics& metrics, int64_t step, Log& log);

 private:
  std::vector<std::string> domains_;
  int64_t max_new_tokens_;
  std::set<std::string> said_;  // domains
};

}  // namespace roll
