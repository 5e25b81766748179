// Mixtures of experts in place of MLPs, or beside them: layers, sizes and routing, for spec.cpp (config.json under the
// keys of each family) and the layer descriptions. What such layers compute is in model/experts.h.
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
  RoutingRule routing{};                // the same in each layer
  int64_t inner = 0;                    // width of an expert
  int64_t shared_inner = 0;             // width of the expert that all tokens use; 0: none
  int64_t sparse_step = 1;              // every n-th layer has experts, the others one MLP
  std::vector<int64_t> dense_layers{};  // these layers have one MLP, too

  bool has_experts(int64_t layer) const;
  bool operator==(const MixtureSpec&) const = default;
};

/// Reads Qwen's keys, DeepSeek-V3's (GLM-4.5 has them, too) or Gemma 4's, whose experts are beside the MLPs. Null:
/// config.json says that the model has none. UserError: a value is missing or impossible.
std::optional<MixtureSpec> read_mixture(const ConfigReader& config, const ModelSpec& spec);
void write_mixture(const ModelSpec& spec, Json& config);

/// Returns dense_layers(), with experts in place of MLPs in the layers that `spec.mixture` names.
std::vector<Layer> mixture_layers(const ModelSpec& spec);

/// Returns dense_layers(), with experts beside all MLPs if `spec.mixture` is set.
std::vector<Layer> layers_beside_experts(const ModelSpec& spec);

/// Returns how many experts a token goes through in all layers together; 0: no layer has experts.
int64_t choices_per_token(const ModelSpec& spec);

}  // namespace roll
