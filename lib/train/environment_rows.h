// Makes data rows from levels of environments. A level's first observation is its prompt, so order, epochs, shares,
// curricula, filters and checkpoints work as for other rows.
#pragma once

#include <filesystem>

#include "base/log.h"
#include "data/prompt_stream.h"
#include "settings/config.h"
#include "text/tokenizer.h"

namespace roll {

/// Checks that the chat template shows an environment's tools and keeps the text between turns. User programs are
/// checked only when a run begins. UserError: it does not.
void check_shown_tools(const Config& config, const std::filesystem::path& model_folder, const Tokenizer& tokenizer);

/// Make the levels of a run, with seeds from the run's seed, the tag and a number: even for training, odd for
/// validation. If an environment's observation identifies the level, training excludes validation levels. UserError: no
/// level is left, or none can begin. SystemError as RowStore.
RowStore make_training_levels(const Config& config, const std::filesystem::path& model_folder,
                              const Tokenizer& tokenizer, Log& log);
RowStore make_validation_levels(const Config& config, const std::filesystem::path& model_folder,
                                const Tokenizer& tokenizer, Log& log);

}  // namespace roll
