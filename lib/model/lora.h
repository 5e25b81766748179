// Low-rank adapters (LoRA, Hu et al. 2021) as in PEFT: a frozen weight W [out, in] has trained matrices A [r, in] and B
// [out, r], and products use W + s B A. DoRA (Liu et al. 2024) also trains the norms of that matrix's rows.
// LinearShape::adapter says which products have one; tensor names are PEFT's, within the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/quantisation.h"

namespace roll {

struct ModelArgs;

/// Adapter of a product; rank 0: none.
struct AdapterShape {
  int64_t rank = 0;
  double scale = 1;
  bool has_magnitude = false;  // DoRA: [out], norms of the rows
  double dropout = 0;          // rate on its inputs in training
};

struct LoraSpec {
  int64_t rank = 8;
  double alpha = 16;
  bool use_dora = false, use_rslora = false;
  std::vector<std::string> targets;  // name endings of products: "q_proj", "mlp.up_proj"; empty: all of the layers
  std::vector<std::string> saved;    // "lm_head", "embed_tokens": trained whole, as a copy
  uint64_t seed = 0;                 // for new adapters
  double dropout = 0;                // share of an adapter's inputs that training leaves out
  std::optional<Quantisation> quantise_base{};

  /// Returns alpha / r; for rsLoRA (Kalajdzievski 2023) alpha / sqrt(r).
  double scale() const;
  AdapterShape adapter_shape(std::string_view linear) const;
  bool saves(std::string_view module) const;
  /// True if both describe the same adapters, whatever their values.
  bool has_same_shape(const LoraSpec& other) const;
  bool operator==(const LoraSpec&) const = default;
};

/// Returns the adapters that a model's keys ask for; nothing if all weights are trained. all-linear leaves `targets`
/// empty.
std::optional<LoraSpec> make_lora_spec(const ModelArgs& args, int64_t seed);

/// Returns "LoRA of rank 8, alpha 16, on q_proj, v_proj".
std::string describe(const LoraSpec& lora);

/// PEFT's suffixes and infix of tensor names.
inline constexpr const char *kLoraA = ".lora_A.weight", *kLoraB = ".lora_B.weight",
                            *kMagnitude = ".lora_magnitude_vector", *kSavedInfix = ".modules_to_save";

}  // namespace roll
