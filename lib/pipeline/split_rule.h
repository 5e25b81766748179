// Splits a model's layers into pipeline stages by the configuration's keys (Megatron's keys, in StrategyConfig).
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "pipeline/stage_split.h"

namespace roll {

struct StrategyConfig;  // dist/config.h

/// Reason why a model cannot be split. The caller makes an error message about the key from it.
struct SplitFault {
  enum class Key {
    kSize,    // pipeline_model_parallel_size
    kChunks,  // virtual_pipeline_model_parallel_size
    kFirst,   // num_layers_in_first_pipeline_stage
    kLast,    // num_layers_in_last_pipeline_stage
    kLayout,  // pipeline_model_parallel_layout
  } key = Key::kSize;
  std::string rule;  // the rule that the key's value breaks, such as "must divide ..."
};

/// Returns the split of a model with `num_layers` layers, or the reason why it cannot be split. A single stage gives a
/// default StageSplit.
std::variant<StageSplit, SplitFault> try_stage_split(const StrategyConfig& strategy, int64_t num_layers);

/// Returns the number of chunks of layers per stage (see stage_split.h); 1 if the stages are not interleaved. Does not
/// check the keys.
int64_t num_chunks(const StrategyConfig& strategy);

/// Returns the split, for a configuration that try_stage_split() has accepted. Throws Bug if the model cannot be split.
StageSplit stage_split(const StrategyConfig& strategy, int64_t num_layers);

}  // namespace roll
