// Measures the untrained policy's response lengths for forecast_time(): samples responses to some prompts for a few
// seconds.
#pragma once

#include <optional>
#include <vector>

#include "forecast/thin_step.h"
#include "rollout/sampler.h"
#include "settings/load_config.h"

namespace roll {

struct LengthTrial {
  double mean = 0;  // estimated tokens of a response
  int64_t num_responses = 0, num_ended = 0;
};

/// Returns true if an end token or a stop string ended the response, not a limit.
bool has_ended(FinishReason reason);

/// Estimates the mean length from `drawn` tokens and `num_ended` finished responses, if each token is equally likely to
/// be the last. Lengths are capped at `longest`.
double expected_length(double drawn, int64_t num_ended, int64_t longest);

/// Samples responses for `seconds` and estimates their mean length. Unfinished ones count as in expected_length(), up
/// to response_length. nullopt: the weights are missing or too large.
std::optional<LengthTrial> try_lengths(const Config& config, const std::vector<std::vector<int64_t>>& prompts,
                                       double seconds);

/// Plays some trajectories with the untrained policy, as a run that only samples, and returns a step like them.
/// nullopt: the weights are missing or too large, or an environment is a program or slow, so its time is unknown.
std::optional<ThinStep> try_trajectories(const CheckedConfig<Config>& checked);

}  // namespace roll
