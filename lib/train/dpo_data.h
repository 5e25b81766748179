// The pairs of a preference optimisation as it trains on them, and a step of them.
#pragma once

#include <filesystem>
#include <vector>

#include "data/pair_rows.h"
#include "settings/dpo_config.h"
#include "text/tokenizer.h"
#include "train/loaded_rows.h"
#include "train/row_training.h"

namespace roll {

/// As load_sft_rows(). UserError: see loaded_rows.h and pair_rows.h.
LoadedRows<PairRow> load_pair_rows(const DpoConfig& config, const DataArgs& data,
                                   const std::filesystem::path& model_folder, const Tokenizer& tokenizer,
                                   Progress* progress = nullptr);

/// Pairs as sequences 2i and 2i + 1 of group i.
RlStep step_of(const std::vector<PairRow>& pairs, const HomeOf& home_of, int rank);

}  // namespace roll
