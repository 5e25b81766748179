// The arithmetic of a step in words, so that a wrong size is seen before a run.
#pragma once

#include <cstdint>
#include <string>

#include "settings/config.h"
#include "settings/sft_config.h"

namespace roll {

/// One or two lines per role: "128 prompts x 8 responses = 1024 sequences a step; 4 data-parallel ranks\n
/// actor_train: 2 updates of 512 sequences; at most 13 micro-batches of 8192 tokens each per rank and update".
std::string batch_plan(const Config& config, int64_t num_ranks);

/// "sft_train: updates of 32 sequences (2 data-parallel ranks); 4 micro-batches of 4 sequences each per rank".
std::string sft_plan(const SftConfig& config, int64_t num_ranks);

}  // namespace roll
