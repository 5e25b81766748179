// How long a policy's responses are before it is trained: it answers some prompts, as many at once as it is given, for
// a few seconds.
#pragma once

#include <optional>
#include <vector>

#include "forecast/thin_step.h"
#include "rollout/sampler.h"
#include "settings/load_config.h"

namespace roll {

struct LengthTrial {
  double mean = 0;  // tokens of a response
  int64_t num_responses = 0, num_ended = 0;
};

/// True where an end token or a stop string ended the response, not a limit.
bool has_ended(FinishReason reason);

/// The mean of responses of which so many ended by themselves in so many tokens, if each token is as likely to be the
/// last one; none is longer than `longest`.
double expected_length(double drawn, int64_t num_ended, int64_t longest);

/// Responses that had not ended count in expected_length(), up to response_length. nullopt: the weights are not here,
/// or too large to load for this.
std::optional<LengthTrial> try_lengths(const Config& config, const std::vector<std::vector<int64_t>>& prompts,
                                       double seconds);

/// A step like some trajectories that the policy plays, as a run that only samples plays them. nullopt: as above, or
/// what is played is a program's or a user's own, of which nobody knows how long it takes.
std::optional<ThinStep> try_trajectories(const CheckedConfig<Config>& checked);

}  // namespace roll
