// Resolves the configuration's sampling keys, for the rollout code (collect/).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rollout/settings.h"
#include "rollout/step_model.h"
#include "settings/config.h"

namespace roll {

/// Sampling of one validation set.
struct SetPlan {
  std::string name;  // "": the validation's own rows
  SamplingSettings sampling;
  int64_t num_samples = 1;  // responses to a prompt
};

struct SamplingPlan {
  SamplingSettings training;
  int64_t num_samples = 1;     // responses to a prompt
  bool with_baseline = false;  // one more greedy response per prompt
  uint64_t seed = 0;
  int64_t max_running_requests = 1;
  bool shares_prefill = true;
  int64_t most_prompts = 0;            // sampled at once in a training step
  int64_t num_additional_prompts = 0;  // extra prompts in flight, per domain with a filter
  double steps_ahead = 0;              // steps that async rollout may run ahead of training
  int64_t last_step = 0;
  bool plays = false;                                    // samples in environments
  int64_t response_length = 0, val_response_length = 0;  // in environments: all turns together
  int64_t sequence_length = 0, val_sequence_length = 0;  // prompt and response of one context
  std::vector<SetPlan> sets;                             // sets with rows; the validation's own first
  std::map<std::string, QueryFilterConfig> filters;      // group filters, by domain
  EngineLimits limits;                                   // num_slots is an upper limit
  CacheSettings cache;

  /// Responses per training prompt, including the greedy one.
  int64_t samples_per_prompt() const { return num_samples + (with_baseline ? 1 : 0); }
};

/// Returns the sampling plan of a complete configuration.
SamplingPlan sampling_plan(const Config& config);

}  // namespace roll
