// One rank's optimizer state as two files: <name>.safetensors holds flat pieces "<parameter>.<state>", and <name>.json
// says where in the whole parameter each lies. So a run on other ranks, or other tensor ranks, finds what it needs.
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
  /// flattened tensor of `shape`, which begins at `offset` of dimension `dim` of the parameter (dim -1: is the whole).
  Json about;
  NamedTensors tensors;  // float32, "low_bits" int16; views of the optimizer's
};

/// `parts`: null where this rank holds whole parameters.
OptimizerShard optimizer_shard(const FlatAdamW& optimizer, const ParameterShards* parts);

/// Writes folder/<name>.{safetensors,json} and returns the sums of both files. SystemError.
FileSums write_optimizer_shard(const std::filesystem::path& folder, const std::string& name,
                               const OptimizerShard& shard);

/// Fills `optimizer` from the shards of all ranks of the run that wrote them: folder/<name>_*.json, on any layout.
/// Of a run with weights of another dtype, masters stay as they are: its rounded weights. UserError: a file is damaged,
/// or a parameter's state is missing or has another shape.
void load_optimizer(FlatAdamW& optimizer, const ParameterShards* parts, const std::filesystem::path& folder,
                    const std::string& name);

}  // namespace roll
