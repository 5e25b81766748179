// Multi-head latent attention (DeepSeek-V2, Liu et al. 2024, section 2.1), which replaces attention in all layers of
// some models: reads and writes its sizes in config.json (for spec.cpp) and describes its layers (for
// dense_layers.cpp). mixers.cpp and decode/cpu_latents.cpp compute it.
#pragma once

#include <cstdint>

#include "base/json.h"
#include "model/delta_net.h"
#include "model/layer.h"

namespace roll {

class ConfigReader;
struct ModelSpec;

/// Sizes of latent attention; LatentAttention (layer.h) explains them.
struct LatentSpec {
  int64_t query_dim = 0;  // elements of the queries' latent; 0: queries are made from x
  int64_t latent_dim = 0, key_dim = 0, rotated_dim = 0, value_dim = 0;

  bool operator==(const LatentSpec&) const = default;
};

/// Reads the sizes of spec.latent, and sets the head sizes that follow from them. Throws UserError if a value is
/// missing or impossible.
void read_latent(const ConfigReader& config, ModelSpec& spec);
/// Returns the factor of query-key products, which depends on spec.latent and spec.rope (ModelSpec::score_scale).
double latent_score_scale(const ModelSpec& spec);
/// Writes the sizes; spec.latent must be set.
void write_latent(const ModelSpec& spec, Json& config);

/// Returns the description of one layer's latent attention; `linear` makes each of its linear layers.
LatentAttention make_latent_attention(const ModelSpec& spec, const MakeLinear& linear);

}  // namespace roll
