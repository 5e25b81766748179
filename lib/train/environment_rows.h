// Levels of environments as data rows: what a level shows first is its prompt, so that all that is known of rows
// (order, epochs, shares, curricula, filters, checkpoints) holds of levels.
#pragma once

#include <filesystem>

#include "base/log.h"
#include "data/prompt_stream.h"
#include "settings/config.h"
#include "text/tokenizer.h"

namespace roll {

/// UserError: the chat template does not show the tools of an environment that has some, or changes what was said
/// between its turns. A program of the user's is asked only when a run begins.
void check_shown_tools(const Config& config, const std::filesystem::path& model_folder, const Tokenizer& tokenizer);

/// The levels of a run. Their seeds are named by the run's seed, the tag and a number; those of training are even,
/// those of the validation odd, and where an environment shows which level it plays, no training level is one of the
/// validation. UserError: no level is left, or one cannot begin. SystemError as RowStore.
RowStore make_training_levels(const Config& config, const std::filesystem::path& model_folder,
                              const Tokenizer& tokenizer, Log& log);
RowStore make_validation_levels(const Config& config, const std::filesystem::path& model_folder,
                                const Tokenizer& tokenizer, Log& log);

}  // namespace roll
