// Saves one rank's optimizer state (a shard) in two files, and loads a rank's state from the shards of all ranks.
// <name>.safetensors holds flat tensors "<parameter>.<state>". <name>.json locates each in the whole parameter, so that
// a run with another parallel layout can load it. Used by Learner and run/saver.h.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/safetensors.h"
#include "model/parameter_shards.h"
#include "optim/optimizer.h"

namespace roll {

struct OptimizerShard {
  /// Contents of the JSON file: {"steps": 7, "parameters": {name: {"shape", "dim", "offset", "begin", "end"}}}. The
  /// rank's tensor-parallel part of the parameter has "shape", and begins at index "offset" of dimension "dim" of the
  /// whole parameter (dim -1: the part is the whole). The shard has the state of the part's elements [begin, end),
  /// flattened.
  Json about;
  NamedTensors tensors;  // [end - begin] each: float32, "low_bits" int16; views of the optimizer's tensors
};

/// Returns this rank's state. parts: split of the parameters over tensor-parallel ranks; null: they are not split.
OptimizerShard optimizer_shard(const FlatOptimizer& optimizer, const ParameterShards* parts);

/// Writes folder/<name>.{safetensors,json} and returns the checksums of both files. name: unique among ranks. Throws
/// SystemError if a file cannot be written.
FileSums write_optimizer_shard(const std::filesystem::path& folder, const std::string& name,
                               const OptimizerShard& shard);

/// Sets the state and number of steps of `optimizer` from the shards that all ranks wrote, the files
/// folder/<name>_*.json, under any parallel layout. Must be called after the weights are loaded: if the shards have no
/// masters of this dtype, the masters stay the loaded, rounded weights. Throws UserError if a file is damaged, or a
/// parameter's state is missing or has another shape.
void load_optimizer(FlatOptimizer& optimizer, const ParameterShards* parts, const std::filesystem::path& folder,
                    const std::string& name);

}  // namespace roll
