// Which stage has which layers, as Megatron's keys say it.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "pipeline/stage_split.h"

namespace roll {

struct StrategyConfig;  // dist/config.h

/// What is wrong with such a split: of which key, and the rule that it breaks.
struct SplitFault {
  enum class Key { kSize, kChunks, kFirst, kLast, kLayout } key = Key::kSize;
  std::string rule;
};

/// The stages of a model with so many layers, or why it cannot be split so.
std::variant<StageSplit, SplitFault> try_stage_split(const StrategyConfig& strategy, int64_t num_layers);

/// Chunks of layers that each stage has.
int64_t num_chunks(const StrategyConfig& strategy);

/// Bug: cannot be split so.
StageSplit stage_split(const StrategyConfig& strategy, int64_t num_layers);

}  // namespace roll
