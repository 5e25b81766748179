// Which published algorithm a configuration amounts to, for people who know the paper: many keys make one name.
// One more algorithm, or technique: its row in describe_algorithm.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "settings/config.h"

namespace roll {

/// "algorithm: GRPO (Shao et al. 2024) with DAPO's clip-higher", or, where these keys are no published one's,
/// "algorithm: nearest to GRPO (Shao et al. 2024), which has the mean of each sequence's mean (here loss_agg_mode =
/// token-mean)". `config` is complete (load_config).
std::string describe_algorithm(const Config& config);

}  // namespace roll
