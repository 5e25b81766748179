// Measures the policy's response lengths before training, for forecast_time() (time_forecast.h): samples responses to
// some prompts for a few seconds on this machine.
#pragma once

#include <optional>
#include <vector>

#include "forecast/thin_step.h"
#include "rollout/sampler.h"
#include "settings/load_config.h"

namespace roll {

struct LengthTrial {
  double mean = 0;            // estimated mean length of a response, in tokens
  int64_t num_responses = 0;  // responses begun
  int64_t num_ended = 0;      // responses for which has_ended()
};

/// Returns true if an end token or a stop string ended the response, not a limit.
bool has_ended(FinishReason reason);

/// Estimates the mean response length after `drawn` sampled tokens and `num_ended` ended responses, as if each token
/// were equally likely to be the last. Lengths are capped at `longest`, which is returned if none has ended.
double expected_length(double drawn, int64_t num_ended, int64_t longest);

/// Samples responses to `prompts` (token ids) for `seconds` and estimates their mean length with expected_length(), at
/// most response_length. Returns nullopt if the weights are missing or too large to load for this, or `prompts` is
/// empty.
std::optional<LengthTrial> try_lengths(const Config& config, const std::vector<std::vector<int64_t>>& prompts,
                                       double seconds);

/// Plays some trajectories of an agentic configuration in a temporary folder, as a run that only samples, and returns a
/// step with their lengths, repeated to the configured number. Returns nullopt if the weights are missing or too large,
/// or if an environment is a program or slow, so that its time is unknown.
std::optional<ThinStep> try_trajectories(const CheckedConfig<Config>& checked);

}  // namespace roll
