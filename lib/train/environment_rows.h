// Makes data rows from levels of environments; a level is what an environment starts from one seed. A level's first
// observation is its prompt, so order, epochs, shares, curricula, filters and checkpoints work as for other rows. Used
// by prompts.h and by checks before a run.
#pragma once

#include <filesystem>

#include "base/log.h"
#include "data/prompt_stream.h"
#include "settings/config.h"
#include "text/tokenizer.h"

namespace roll {

/// Checks that the chat template shows the tools of all configured environments and keeps the text between turns;
/// throws UserError if it does not. Environments that are user programs are left out, because they would have to be
/// started; they are checked when a run begins.
void check_shown_tools(const Config& config, const std::filesystem::path& model_folder, const Tokenizer& tokenizer);

/// Return the levels of a run as rows. A level's seed follows from the run's seed, the environment's tag and the
/// level's number; seeds of training are even, of validation odd. If an environment's observation identifies the level,
/// training leaves out levels with the observation of a validation level. Throw
/// UserError if no level is left, or if three in a row cannot begin; SystemError if rows cannot be stored.
RowStore make_training_levels(const Config& config, const std::filesystem::path& model_folder,
                              const Tokenizer& tokenizer, Log& log);
RowStore make_validation_levels(const Config& config, const std::filesystem::path& model_folder,
                                const Tokenizer& tokenizer, Log& log);

}  // namespace roll
