// Names the published algorithm that a configuration implements, or the nearest one, for people who know the papers.
// A new algorithm or technique is a row in describe_algorithm.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "settings/config.h"

namespace roll {

/// Returns a line such as "algorithm: GRPO (Shao et al. 2024) with DAPO's clip-higher". If no published algorithm
/// matches, the line names the nearest one and each difference: "algorithm: nearest to GRPO (Shao et al. 2024), which
/// has the mean of each sequence's mean (here loss_agg_mode = token-mean)". `config` must come from load_config().
std::string describe_algorithm(const Config& config);

}  // namespace roll
