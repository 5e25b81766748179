// A model some of whose layers have a gated delta net in place of attention: which, how large, under which names. Read
// from and written to HF's config.json under Qwen's names; what such layers compute is in ops/delta_rule.h.
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
  int64_t kernel = 4;  // tokens of the convolution

  bool operator==(const DeltaSpec&) const = default;
};

/// Of layers of the spec's number.
DeltaSpec read_delta(const ConfigReader& config);
std::vector<char> read_recurs(const ConfigReader& config, int64_t num_layers);
void write_delta(const ModelSpec& spec, Json& config);

/// A product of a layer: name, outputs, inputs, cut, where a folder has it.
using MakeLinear = std::function<LinearShape(const std::string& name, int64_t outputs, int64_t inputs, const Cut& cut,
                                             const FusedRows& fused)>;

GatedDeltaNet delta_net_of(const ModelSpec& spec, const MakeLinear& linear);

}  // namespace roll
