// Loads the preference pairs of `roll dpo`, and makes training steps from them; used by dpo.cpp.
#pragma once

#include <filesystem>
#include <vector>

#include "data/pair_rows.h"
#include "settings/dpo_config.h"
#include "text/tokenizer.h"
#include "train/loaded_rows.h"
#include "train/row_training.h"

namespace roll {

/// Loads and tokenises the pairs in the files of `data`; returns no rows if it names no file. The chat template is
/// data.template_name, else the model folder's. progress: counts rows; may be null. Throws UserError if a file cannot
/// be read, a row is malformed, or all pairs are longer than config.sequence_length.
LoadedRows<PairRow> load_pair_rows(const DpoConfig& config, const DataArgs& data,
                                   const std::filesystem::path& model_folder, const Tokenizer& tokenizer,
                                   Progress* progress = nullptr);

/// Makes a step of `pairs`, those of all ranks: sequences 2i (chosen) and 2i + 1 (rejected) form group i. plan_home:
/// decides which world ranks train on which sequences (row_training.h). rank: the caller's world rank; the step's
/// experience holds only its sequences. Facts and home are equal on all ranks. The caller sets step.number. No
/// communication.
RlStep make_step(const std::vector<PairRow>& pairs, const PlanHome& plan_home, int rank);

}  // namespace roll
