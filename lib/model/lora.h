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

/// The adapters of a model. A name in `targets` or `saved` means the modules whose name equals it or ends with "." and
/// this name.
struct LoraSpec {
  int64_t rank = 8;
  double alpha = 16;
  bool use_dora = false, use_rslora = false;  // rsLoRA changes scale()
  /// Linear layers with adapters: "q_proj", "mlp.up_proj". Empty: all linear layers of the transformer layers, so not
  /// the lm head.
  std::vector<std::string> targets;
  std::vector<std::string> saved;  // PEFT's modules_to_save: "lm_head", "embed_tokens"; a copy is trained in full
  uint64_t seed = 0;               // for new adapters' random values
  double dropout = 0;              // share of an adapter's inputs that training sets to 0
  /// Format that holds the frozen weights of all linear layers in the transformer layers, with or without an adapter;
  /// null: not quantised. The embedding and the lm head are never quantised.
  std::optional<Quantisation> quantise_base{};

  /// Returns alpha / r; for rsLoRA (Kalajdzievski 2023) alpha / sqrt(r).
  double scale() const;
  /// Returns the adapter of the linear layer with this name; its rank is 0 if `targets` do not mean the layer.
  AdapterShape adapter_shape(std::string_view linear) const;
  /// True if `saved` means the module with this name.
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

/// PEFT's endings of tensor names, after a module's name. kSavedInfix lies between the name of a module in `saved` and
/// the tensor's ending: "lm_head.modules_to_save.weight".
inline constexpr const char *kLoraA = ".lora_A.weight", *kLoraB = ".lora_B.weight",
                            *kMagnitude = ".lora_magnitude_vector", *kSavedInfix = ".modules_to_save";

}  // namespace roll
