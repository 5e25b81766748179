// Gated delta nets that replace attention in some layers: reads and writes their sizes in config.json (Qwen's keys
// linear_*, for spec.cpp) and describes their layers (for dense_layers.cpp). ops/delta_rule.h computes them.
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

/// Sizes of the delta nets of a model. key_dim and value_dim: elements of one head.
struct DeltaSpec {
  int64_t key_heads = 16, value_heads = 32, key_dim = 128, value_dim = 128;
  int64_t kernel = 4;  // width of the causal convolution, in tokens

  bool operator==(const DeltaSpec&) const = default;
};

/// Reads the sizes; absent keys keep the defaults. Throws UserError if a value is impossible.
DeltaSpec read_delta(const ConfigReader& config);
/// Returns for each layer 1 if it has a delta net, else 0 (ModelSpec::recurs). Throws UserError if layer_types is
/// wrong.
std::vector<char> read_recurs(const ConfigReader& config, int64_t num_layers);
/// Writes spec.delta and spec.recurs to `config`, a config.json; both must be set.
void write_delta(const ModelSpec& spec, Json& config);

/// Makes the description of a linear layer; `fused`: its rows in a fused tensor of the folder, or empty.
using MakeLinear = std::function<LinearShape(const std::string& name, int64_t outputs, int64_t inputs, const Cut& cut,
                                             const FusedRows& fused)>;

/// Returns the description of one delta net; `linear` makes each of its linear layers.
GatedDeltaNet make_delta_net(const ModelSpec& spec, const MakeLinear& linear);

}  // namespace roll
