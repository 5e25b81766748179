// How a run samples: the configuration's keys of it, resolved.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rollout/settings.h"
#include "rollout/step_model.h"
#include "settings/config.h"

namespace roll {

/// How a validation set is sampled.
struct SetPlan {
  std::string name;  // "": the validation's own rows
  SamplingSettings sampling;
  int64_t num_samples = 1;  // responses to a prompt
};

struct SamplingPlan {
  SamplingSettings training;
  int64_t num_samples = 1;     // responses to a prompt
  bool with_baseline = false;  // and a greedy one more
  uint64_t seed = 0;
  int64_t max_running_requests = 1;
  bool shares_prefill = true;
  int64_t most_prompts = 0;            // of a training step at once
  int64_t num_additional_prompts = 0;  // of a domain with a filter: beyond those that it lacks
  double steps_ahead = 0;              // by which sampling runs ahead of training
  int64_t last_step = 0;
  bool plays = false;                                    // in environments
  int64_t response_length = 0, val_response_length = 0;  // there, all turns together
  int64_t sequence_length = 0, val_sequence_length = 0;  // prompt and response of a turn with a context of its own
  std::vector<SetPlan> sets;                             // those that have rows, the validation's own first
  std::map<std::string, QueryFilterConfig> filters;      // of groups, by domain
  EngineLimits limits;                                   // num_slots: at most
  CacheSettings cache;

  /// Responses to a prompt of training, a greedy one included.
  int64_t samples_per_prompt() const { return num_samples + (with_baseline ? 1 : 0); }
};

/// Of a configuration that is complete.
SamplingPlan sampling_plan(const Config& config);

}  // namespace roll
