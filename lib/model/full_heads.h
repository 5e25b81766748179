// Attention heads of layers without a window, if they differ from those with one (Gemma 4). spec.cpp reads them from
// and writes them to config.json.
#pragma once

#include <cstdint>

#include "base/json.h"

namespace roll {

class ConfigReader;
struct ModelSpec;

struct FullHeads {
  int64_t head_dim = 0, num_kv_heads = 0;
  bool keys_are_values = false;  // values come from the keys' product

  bool operator==(const FullHeads&) const = default;
};

/// Reads global_head_dim, num_global_key_value_heads and attention_k_eq_v, or per_layer_config, which transformers
/// writes. UserError "origin: key = value: rule": a value is impossible, or a feature is not supported.
FullHeads read_full_heads(const ConfigReader& config, const ModelSpec& spec);
/// Reads what Gemma 4's layers share: keys and values, and the table of per-layer inputs.
void read_shared_parts(const ConfigReader& config, ModelSpec& spec);
/// Writes the heads, the RoPE of each kind of layer, and the shared parts.
void write_full_heads(const ModelSpec& spec, Json& config);

}  // namespace roll
