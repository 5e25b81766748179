// Mixtures of experts in place of MLPs, or beside them: reads and writes their sizes in config.json (for spec.cpp), and
// describes their layers (for architectures.cpp). model/experts.h computes them.
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
  int64_t inner = 0;                    // outputs of an expert's gate and up
  int64_t shared_inner = 0;             // the same of the expert that all tokens use; 0: there is none
  int64_t sparse_step = 1;              // n: layers n - 1, 2n - 1, ... (from 0) have experts, the others a plain MLP
  std::vector<int64_t> dense_layers{};  // numbers of further layers with a plain MLP

  /// Returns true if layer number `layer` (from 0) has experts.
  bool has_experts(int64_t layer) const;
  bool operator==(const MixtureSpec&) const = default;
};

/// Reads the keys of the architecture's kind (Architecture::mixtures). Returns null if the architecture has no experts,
/// or config.json says that this model has none. Throws UserError if a value is missing or impossible.
std::optional<MixtureSpec> read_mixture(const ConfigReader& config, const ModelSpec& spec);
/// Writes the keys that read_mixture() reads; nothing if the architecture has no experts.
void write_mixture(const ModelSpec& spec, Json& config);

/// Returns dense_layers(), with experts in place of MLPs in the layers for which spec.mixture->has_experts().
std::vector<Layer> mixture_layers(const ModelSpec& spec);

/// Returns dense_layers(), with experts beside all MLPs if `spec.mixture` is set.
std::vector<Layer> layers_beside_experts(const ModelSpec& spec);

/// Returns the number of routed experts that a token goes through in all layers together; 0 if no layer has experts.
int64_t choices_per_token(const ModelSpec& spec);

}  // namespace roll
