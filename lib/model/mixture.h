// A model whose MLPs are mixtures: which layers have experts, how many, how they are chosen. Read from and written to
// HF's config.json under the names of each family; what such layers compute is in model/experts.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/json.h"
#include "model/layer.h"

namespace roll {

class ConfigReader;
struct ModelSpec;

struct MixtureSpec {
  RoutingRule routing{};                // of each layer
  int64_t inner = 0;                    // of an expert
  int64_t shared_inner = 0;             // of the expert that all tokens have; 0: there is none
  int64_t sparse_step = 1;              // every so many layers have experts, the others one MLP
  std::vector<int64_t> dense_layers{};  // so do these

  bool has_experts(int64_t layer) const;
  bool operator==(const MixtureSpec&) const = default;
};

/// Under Qwen's names, or DeepSeek-V3's (GLM-4.5 has them, too), or Gemma 4's, whose mixtures are beside its MLPs.
/// Null: config.json says that the model has none.
std::optional<MixtureSpec> read_mixture(const ConfigReader& config, const ModelSpec& spec);
void write_mixture(const ModelSpec& spec, Json& config);

/// dense_layers(), with experts in place of the MLPs that `spec.mixture` says.
std::vector<Layer> mixture_layers(const ModelSpec& spec);

/// dense_layers(), with experts beside the MLPs where `spec.mixture` has some.
std::vector<Layer> layers_beside_experts(const ModelSpec& spec);

/// The experts that a token goes through, in all layers; 0: no layer has experts.
int64_t choices_per_token(const ModelSpec& spec);

}  // namespace roll
