// The pairs of a preference optimisation as it trains on them, and a step of them.
#pragma once

#include <filesystem>
#include <vector>

#include "data/leaks.h"
#include "data/pair_rows.h"
#include "dist/mesh.h"
#include "settings/dpo_config.h"
#include "step/rl_step.h"
#include "text/tokenizer.h"

namespace roll {

struct PairRows {
  std::vector<PairRow> rows;
  int64_t num_dropped = 0;  // with a response longer than sequence_length
  KeyedRows keyed;
};

/// As load_sft_rows(). UserError: see pair_rows.h.
PairRows load_pair_rows(const DpoConfig& config, const DataArgs& data, const std::filesystem::path& model_folder,
                        const Tokenizer& tokenizer);

/// These pairs as sequences 2i and 2i + 1 of group i, at home where `rule` puts them on the role's ranks.
RlStep step_of(const std::vector<PairRow>& rows, const std::vector<int64_t>& pairs, const BatchRule& rule,
               RoleMesh& role);

}  // namespace roll
