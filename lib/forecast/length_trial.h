// Measures the policy's response lengths before training, for forecast_time() (time_forecast.h): samples responses to
// some prompts for a few seconds on this machine.
#pragma once

#include <optional>
#include <vector>

#include "forecast/thin_step.h"
#include "rollout/sampler.h"
#include "settings/load_config.h"

namespace roll {

/// Result of try_lengths().
struct LengthTrial {
  double mean = 0;            // estimated mean length of a response, in tokens
  int64_t num_responses = 0;  // responses begun
  int64_t num_ended = 0;      // responses for which has_ended()
};

/// Returns true if an end token or a stop string ended the response, not a limit.
bool has_ended(FinishReason reason);

/// Estimates the mean response length, in tokens, as if each token were equally likely to be the last. `drawn`: sampled
/// tokens of all responses so far. `num_ended`: number of ended responses. `longest`: limit of a response; returned if
/// none has ended.
double expected_length(double drawn, int64_t num_ended, int64_t longest);

/// Samples one response to each of `prompts` (token ids) for up to `seconds`, and estimates their mean length with
/// expected_length(). Returns nullopt if the weights are not on this machine, have more than 4 GB, or `prompts` is
/// empty.
std::optional<LengthTrial> try_lengths(const Config& config, const std::vector<std::vector<int64_t>>& prompts,
                                       double seconds);

/// Plays up to 32 trajectories (at least one group) of an agentic configuration, as a run of one rank that only
/// samples, in a temporary folder. Returns a step with their lengths, repeated to the configured number of sequences.
/// Returns nullopt if the weights are missing or too large as above, or if an environment is_program or is_slow
/// (environment/types.h). Throws UserError as that run does.
std::optional<ThinStep> try_trajectories(const CheckedConfig<Config>& checked);

}  // namespace roll
