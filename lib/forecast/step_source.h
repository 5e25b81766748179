// Where a simulated step takes its lengths from.
#pragma once

#include <filesystem>

#include "forecast/thin_step.h"
#include "preview/length_sources.h"
#include "settings/config.h"

namespace roll {

/// A step of assumed responses to prompts of a quarter of prompt_length, which domains take in turn. Where turns have
/// prompts of their own, of each there are as many as may be, and `responses` are those turns.
ThinStep assumed_step(const Config& config, const ResponseModel& responses, int64_t step);

/// A recorded step, of recorded_steps(); where `config` wants another number of prompts, the first ones, or all again
/// and again. UserError: recorded_steps()'s, read_replay()'s, or `step` is not there.
ThinStep recorded_step(const std::filesystem::path& rollouts, const Config& config, int64_t step);

}  // namespace roll
