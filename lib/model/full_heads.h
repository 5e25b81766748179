// Heads of layers without a window, where those of layers with one are others (Gemma 4): read from and written to HF's
// config.json.
#pragma once

#include <cstdint>

#include "base/json.h"

namespace roll {

class ConfigReader;
struct ModelSpec;

struct FullHeads {
  int64_t head_dim = 0, num_kv_heads = 0;
  bool keys_are_values = false;  // there is no product for values

  bool operator==(const FullHeads&) const = default;
};

/// global_head_dim, num_global_key_value_heads and attention_k_eq_v, or per_layer_config, as which transformers writes
/// them. UserError "origin: key = value: rule", also for what of such a model is not computed.
FullHeads read_full_heads(const ConfigReader& config, const ModelSpec& spec);
/// What of Gemma 4's layers is others' too: keys and values, a table of inputs.
void read_shared_parts(const ConfigReader& config, ModelSpec& spec);
/// With the layers' kinds and rotations.
void write_full_heads(const ModelSpec& spec, Json& config);

}  // namespace roll
