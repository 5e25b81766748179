// Settings of low-rank adapters (LoRA, Hu et al. 2021) as in PEFT. A linear layer uses W + scale * B A: its weight W
// [out, in] is frozen, the matrices A [r, in] and B [out, r] are trained. DoRA (Liu et al. 2024) also trains the norms
// of the rows of that sum. LinearShape::adapter (layer.h) says which linear layers have adapters; linear.h computes
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/quantisation.h"

namespace roll {

struct ModelArgs;

/// Adapter of one linear layer; rank 0: it has none.
struct AdapterShape {
  int64_t rank = 0;
  double scale = 1;            // factor of B A
  bool has_magnitude = false;  // DoRA: a vector [out] holds the norms of the rows
  double dropout = 0;          // share of its inputs that training sets to 0
};

/// The adapters of a model.
struct LoraSpec {
  int64_t rank = 8;
  double alpha = 16;
  bool use_dora = false, use_rslora = false;  // rsLoRA changes scale()
  std::vector<std::string> targets;  // ends of linear layers' names: "q_proj", "mlp.up_proj"; empty: all in layers
  std::vector<std::string> saved;    // PEFT's modules_to_save: "lm_head", "embed_tokens"; a copy is trained in full
  uint64_t seed = 0;                 // for new adapters' random values
  double dropout = 0;                // share of an adapter's inputs that training sets to 0
  std::optional<Quantisation> quantise_base{};  // format for the layers' frozen weights; null: not quantised

  /// Returns alpha / r; for rsLoRA (Kalajdzievski 2023) alpha / sqrt(r).
  double scale() const;
  /// Returns the adapter of the linear layer with this name; rank 0 if `targets` do not include it.
  AdapterShape adapter_shape(std::string_view linear) const;
  /// True if the name of the module ends with one of `saved`.
  bool saves(std::string_view module) const;
  /// True if rank, alpha, use_dora, use_rslora, targets and saved are equal (lists in any order).
  bool has_same_shape(const LoraSpec& other) const;
  bool operator==(const LoraSpec&) const = default;
};

/// Returns the adapters that the configuration asks for; null if it asks for none, so that all weights are trained.
/// lora_target: all-linear gives empty `targets`.
std::optional<LoraSpec> make_lora_spec(const ModelArgs& args, int64_t seed);

/// Returns words for messages, such as "LoRA of rank 8, alpha 16, on q_proj, v_proj".
std::string describe(const LoraSpec& lora);

/// PEFT's endings of tensor names, after a module's name; kSavedInfix precedes the ending of a copy that is trained.
inline constexpr const char *kLoraA = ".lora_A.weight", *kLoraB = ".lora_B.weight",
                            *kMagnitude = ".lora_magnitude_vector", *kSavedInfix = ".modules_to_save";

}  // namespace roll
