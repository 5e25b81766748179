// Makes a step with assumed or recorded sequence lengths, for simulation.h and time_forecast.h.
#pragma once

#include <filesystem>

#include "forecast/thin_step.h"
#include "preview/length_sources.h"
#include "settings/config.h"

namespace roll {

/// Returns step number `step` of the configured size, with response lengths drawn from the distribution `responses` and
/// prompts of prompt_length / 4 tokens. Groups belong to the configured domains in rotation. In environments whose
/// turns have separate contexts (EnvironmentConfig::has_contexts()), `responses` gives the lengths of turns, and each
/// response has max_steps turns.
ThinStep assumed_step(const Config& config, const ResponseModel& responses, int64_t step);

/// Returns recorded step number `step` of the folder `rollouts`, with its responses repeated or cut to the configured
/// number of sequences. Throws UserError if the folder lacks the step or cannot be read.
ThinStep recorded_step(const std::filesystem::path& rollouts, const Config& config, int64_t step);

}  // namespace roll
