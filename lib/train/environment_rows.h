// Makes data rows from levels of environments. A level is the game or task that an environment starts from one seed.
// The prompt of its row shows its first observation, so order, epochs, domain shares, curricula, filters and
// checkpoints work as for other rows. Used by prompts.h and by checks before a run.
#pragma once

#include <filesystem>

#include "base/log.h"
#include "data/prompt_stream.h"
#include "settings/config.h"
#include "text/tokenizer.h"

namespace roll {

/// Throws UserError if the chat template does not show the tools of a configured environment, or changes the text of
/// earlier turns. Environments that are user programs are left out, because they would have to be started; they are
/// checked when a run begins.
void check_shown_tools(const Config& config, const std::filesystem::path& model_folder, const Tokenizer& tokenizer);

/// Returns the training levels as rows, environment by environment. A level's seed follows from the run's seed, the
/// environment's tag and the level's number; training has even seeds, validation has odd ones. If the first
/// observations of an environment identify its levels, those of validation levels are left out. Levels whose prompt is
/// too long are dropped; ones that cannot begin are skipped with a warning. Throws UserError if no level is left, or if
/// three in a row cannot begin; SystemError if rows cannot be stored.
RowStore make_training_levels(const Config& config, const std::filesystem::path& model_folder,
                              const Tokenizer& tokenizer, Log& log);
/// Returns the validation levels as rows. Throws like make_training_levels().
RowStore make_validation_levels(const Config& config, const std::filesystem::path& model_folder,
                                const Tokenizer& tokenizer, Log& log);

}  // namespace roll
