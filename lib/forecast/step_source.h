// Makes the sequence lengths of a simulated step (simulation.h), assumed or recorded.
#pragma once

#include <filesystem>

#include "forecast/thin_step.h"
#include "preview/length_sources.h"
#include "settings/config.h"

namespace roll {

/// Returns a step with response lengths drawn from `responses` and prompts of prompt_length / 4; domains take turns. In
/// environments whose turns have prompts of their own, `responses` gives the turns' lengths, and each response has
/// max_steps turns.
ThinStep assumed_step(const Config& config, const ResponseModel& responses, int64_t step);

/// Returns a recorded step; repeats or cuts its responses to the configured number of prompts. UserError:
/// recorded_steps() or read_replay() fails, or `step` is missing.
ThinStep recorded_step(const std::filesystem::path& rollouts, const Config& config, int64_t step);

}  // namespace roll
