// Saves one rank's optimizer state in two files: <name>.safetensors holds flat pieces "<parameter>.<state>", and
// <name>.json locates each in the whole parameter. So a run with other ranks, or other tensor ranks, finds its parts.
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
  /// {"steps": 7, "parameters": {name: {"shape", "dim", "offset", "begin", "end"}}}: elements [begin, end) of a
  /// flattened tensor of `shape`, which begins at `offset` in dimension `dim` of the parameter (dim -1: the whole).
  Json about;
  NamedTensors tensors;  // float32, "low_bits" int16; views of the optimizer's tensors
};

/// Returns this rank's state. `parts`: null if this rank holds whole parameters.
OptimizerShard optimizer_shard(const FlatAdamW& optimizer, const ParameterShards* parts);

/// Writes folder/<name>.{safetensors,json} and returns both checksums. SystemError: the disk refuses.
FileSums write_optimizer_shard(const std::filesystem::path& folder, const std::string& name,
                               const OptimizerShard& shard);

/// Fills `optimizer` from the shards of all ranks that wrote them: folder/<name>_*.json, in any layout. If that run's
/// weights had another dtype, masters keep the loaded, rounded weights. UserError: a file is damaged, or a parameter's
/// state is missing or has another shape.
void load_optimizer(FlatAdamW& optimizer, const ParameterShards* parts, const std::filesystem::path& folder,
                    const std::string& name);

}  // namespace roll
