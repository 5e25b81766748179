// Splits a model's layers into pipeline stages, by Megatron's keys.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "pipeline/stage_split.h"

namespace roll {

struct StrategyConfig;  // dist/config.h

/// Error of a split: the key, and the rule that it breaks.
struct SplitFault {
  enum class Key { kSize, kChunks, kFirst, kLast, kLayout } key = Key::kSize;
  std::string rule;
};

/// Returns the stages of a model with `num_layers` layers, or why it cannot be split.
std::variant<StageSplit, SplitFault> try_stage_split(const StrategyConfig& strategy, int64_t num_layers);

/// Returns the number of layer chunks per stage.
int64_t num_chunks(const StrategyConfig& strategy);

/// Returns the split. Bug: the model cannot be split this way.
StageSplit stage_split(const StrategyConfig& strategy, int64_t num_layers);

}  // namespace roll
