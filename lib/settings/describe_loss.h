// Describes in words how the configured loss is averaged, that is, its divisor (tokens, sequences, a constant), so that
// two runs can be compared.
#pragma once

#include <string>

#include "settings/config.h"
#include "settings/distill_config.h"
#include "settings/dpo_config.h"

namespace roll {

/// Return a line such as "actor loss: token-mean: by all final_response_mask tokens of a 512-sequence update"; for a
/// `roll train` with a critic, a second line for its loss.
std::string describe_loss(const Config& config);
std::string describe_loss(const RowConfig& config);
std::string describe_loss(const DpoConfig& config);
std::string describe_loss(const DistillConfig& config);

}  // namespace roll
