// Makes a step with assumed or recorded sequence lengths, for simulation.h.
#pragma once

#include <filesystem>

#include "forecast/thin_step.h"
#include "preview/length_sources.h"
#include "settings/config.h"

namespace roll {

/// Returns step number `step` of the configured size, with response lengths drawn from the distribution `responses` and
/// prompts of prompt_length / 4 tokens. Groups belong to the configured domains in rotation. In environments that begin
/// each turn with a new context, `responses` gives the lengths of turns, and each response has max_steps turns.
ThinStep assumed_step(const Config& config, const ResponseModel& responses, int64_t step);

/// Returns step number `step` of the folder `rollouts`, its responses repeated or cut to the configured number. Throws
/// UserError if the folder lacks the step or cannot be read.
ThinStep recorded_step(const std::filesystem::path& rollouts, const Config& config, int64_t step);

}  // namespace roll
