// Reads and writes config.json's keys of Gemma 4 for spec.cpp: above all the sizes of attention heads in layers without
// a sliding window. These "full" heads (they see all tokens) have other sizes than those in layers with a window.
#pragma once

#include <cstdint>

#include "base/json.h"

namespace roll {

class ConfigReader;
struct ModelSpec;

/// Sizes of the heads of layers without a window.
struct FullHeads {
  int64_t head_dim = 0, num_kv_heads = 0;
  bool keys_are_values = false;  // no v projection: the values are the keys before their norm and RoPE

  bool operator==(const FullHeads&) const = default;
};

/// Reads attention_k_eq_v, and the sizes from per_layer_config (which transformers writes) if it is there, else from
/// global_head_dim and num_global_key_value_heads. `spec` must already have its sizes and windows. Throws UserError
/// "origin: key = value: rule" if a value is impossible or not supported.
FullHeads read_full_heads(const ConfigReader& config, const ModelSpec& spec);
/// Reads into the spec the sizes of Gemma 4's per-layer inputs (layer_inputs), and how many last layers read keys and
/// values of earlier ones (keyless_layers, widens_keyless). Throws UserError if a value is impossible.
void read_shared_parts(const ConfigReader& config, ModelSpec& spec);
/// Writes all that read_full_heads(), read_shared_parts() and read_ropes_by_kind() read. spec.full_heads must be set.
void write_full_heads(const ModelSpec& spec, Json& config);

}  // namespace roll
