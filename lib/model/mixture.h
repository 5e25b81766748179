// A model whose MLPs are mixtures: which layers have experts, how many, how they are chosen. Read from and written to
// HF's config.json under Qwen's names; what such layers compute is in model/experts.h.
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"
#include "model/layer.h"

namespace roll {

class ConfigReader;
struct ModelSpec;

struct MixtureSpec {
  int64_t num_experts = 0, chosen = 0;  // of each layer; and by each token
  int64_t inner = 0;                    // of an expert
  bool renormalises = false;            // the probabilities of those chosen, so that they sum to 1
  int64_t shared_inner = 0;             // of the expert that all tokens have; 0: there is none
  int64_t sparse_step = 1;              // every so many layers have experts, the others one MLP
  std::vector<int64_t> dense_layers{};  // so do these

  bool has_experts(int64_t layer) const;
  bool operator==(const MixtureSpec&) const = default;
};

/// transformers 5 writes Qwen3-MoE's num_experts as num_local_experts.
MixtureSpec read_mixture(const ConfigReader& config, const ModelSpec& spec);
void write_mixture(const MixtureSpec& mixture, Json& config);
/// Under Gemma 4's names, whose mixtures are beside its MLPs.
MixtureSpec read_beside_mlps(const ConfigReader& config);
void write_beside_mlps(const MixtureSpec& mixture, Json& config);

/// dense_layers(), with experts in place of the MLPs that `spec.mixture` says.
std::vector<Layer> mixture_layers(const ModelSpec& spec);

/// dense_layers(), with experts beside the MLPs where `spec.mixture` has some.
std::vector<Layer> layers_beside_experts(const ModelSpec& spec);

/// The experts that a token goes through, in all layers; 0: no layer has experts.
int64_t choices_per_token(const ModelSpec& spec);

}  // namespace roll
