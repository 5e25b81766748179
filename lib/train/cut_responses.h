// A step that was cut off whole says nothing about its prompts: told in words, once a domain.
#pragma once

#include <set>
#include <string>

#include "base/log.h"
#include "settings/config.h"
#include "track/metrics.h"

namespace roll {

class CutResponses {
 public:
  /// `metrics` has <domain>/rollout/truncated_ratio of all ranks.
  void warn(const Metrics& metrics, int64_t step, const Config& config, Log& log);

 private:
  std::set<std::string> said_;  // domains
};

}  // namespace roll
