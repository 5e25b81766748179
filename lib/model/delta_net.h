// Gated delta nets that replace attention in some layers: sizes, layers and weight names, for spec.cpp (config.json
// under Qwen's keys) and dense_layers.cpp. What such layers compute is in ops/delta_rule.h.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/layer.h"

namespace roll {

class ConfigReader;
struct ModelSpec;

struct DeltaSpec {
  int64_t key_heads = 16, value_heads = 32, key_dim = 128, value_dim = 128;
  int64_t kernel = 4;  // width of the convolution, in tokens

  bool operator==(const DeltaSpec&) const = default;
};

/// Reads the sizes, and for each layer if it has a delta net. UserError: a value is missing or impossible.
DeltaSpec read_delta(const ConfigReader& config);
std::vector<char> read_recurs(const ConfigReader& config, int64_t num_layers);
void write_delta(const ModelSpec& spec, Json& config);

/// Makes a product of a layer from name, outputs, inputs, sharding, and rows in a fused tensor of the folder.
using MakeLinear = std::function<LinearShape(const std::string& name, int64_t outputs, int64_t inputs, const Cut& cut,
                                             const FusedRows& fused)>;

GatedDeltaNet make_delta_net(const ModelSpec& spec, const MakeLinear& linear);

}  // namespace roll
