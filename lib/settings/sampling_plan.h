// Takes from a complete configuration all that the rollout code (collect/) needs to sample training and validation
// responses.
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
  std::string name;  // key in validation.sets; "": the validation's own rows
  SamplingSettings sampling;
  int64_t num_samples = 1;  // responses per prompt
};

/// Settings of all sampling in a run.
struct SamplingPlan {
  SamplingSettings training;           // sampling of training responses
  int64_t num_samples = 1;             // trained responses per prompt
  bool with_baseline = false;          // one more response per prompt, sampled greedily; its reward is the baseline
  uint64_t seed = 0;                   // seed of all random numbers
  int64_t max_running_requests = 1;    // sequences that an engine (a group of sampler ranks) samples at once
  bool speculates = true;              // guesses tokens, if the sampler's model takes guesses
  bool shares_prefill = true;          // responses to one prompt share its KV cache
  int64_t most_prompts = 0;            // most prompts of a training step in progress at once, over all engines
  int64_t num_additional_prompts = 0;  // prompts in progress beyond the step's number, per domain with a group filter
  double steps_ahead = 0;              // steps that async rollout may run ahead of training; 0: not async
  int64_t last_step = 0;               // number of steps of the run
  bool plays = false;                  // true: acts in environments, turn by turn; false: one response per prompt
  // Limits in tokens, for training and for validations (val_):
  int64_t response_length = 0, val_response_length = 0;  // response; in environments: all turns together
  int64_t sequence_length = 0, val_sequence_length = 0;  // prompt and response; if each turn has a prompt: of a turn
  std::vector<SetPlan> sets;                             // validation sets; the validation's own rows first, if any
  std::map<std::string, QueryFilterConfig> filters;      // group filters, by domain
  EngineLimits limits;                                   // num_slots is an upper limit; the engine may take fewer
  CacheSettings cache;

  /// Responses per training prompt, including the greedy one.
  int64_t samples_per_prompt() const { return num_samples + (with_baseline ? 1 : 0); }
};

/// Returns the plan of `config`, which must be complete (load_config()).
SamplingPlan sampling_plan(const Config& config);

}  // namespace roll
