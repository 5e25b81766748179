// Loads the preference pairs of `roll dpo`, and makes steps from them.
#pragma once

#include <filesystem>
#include <vector>

#include "data/pair_rows.h"
#include "settings/dpo_config.h"
#include "text/tokenizer.h"
#include "train/loaded_rows.h"
#include "train/row_training.h"

namespace roll {

/// Tokenises the pairs in `data`. UserError: see loaded_rows.h and pair_rows.h.
LoadedRows<PairRow> load_pair_rows(const DpoConfig& config, const DataArgs& data,
                                   const std::filesystem::path& model_folder, const Tokenizer& tokenizer,
                                   Progress* progress = nullptr);

/// Makes a step of `pairs`: sequences 2i (chosen) and 2i + 1 (rejected) form group i.
RlStep make_step(const std::vector<PairRow>& pairs, const PlanHome& plan_home, int rank);

}  // namespace roll
