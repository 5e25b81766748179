// Names the published algorithm that a configuration amounts to, for people who know the papers.
// A new algorithm or technique is a row in describe_algorithm.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "settings/config.h"

namespace roll {

/// Returns "algorithm: GRPO (Shao et al. 2024) with DAPO's clip-higher", or, if no published one matches, "algorithm:
/// nearest to GRPO (Shao et al. 2024), which has the mean of each sequence's mean (here loss_agg_mode = token-mean)".
/// `config` must be complete (load_config).
std::string describe_algorithm(const Config& config);

}  // namespace roll
