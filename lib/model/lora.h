// Low-rank adapters (LoRA, Hu et al. 2021) as PEFT has them: beside a frozen weight W [out, in] stand A [r, in] and
// B [out, r], which alone are trained, and products are made with W + s B A. DoRA (Liu et al. 2024) gives that matrix
// rows of trained lengths. Which products of a layer have one is part of its description (LinearShape::adapter); names
// of tensors are PEFT's, within the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/quantisation.h"

namespace roll {

struct ModelArgs;

/// The adapter of a product; rank 0: it has none.
struct AdapterShape {
  int64_t rank = 0;
  double scale = 1;
  bool has_magnitude = false;  // DoRA: [out], the rows' lengths
  double dropout = 0;          // of its inputs, where it is trained
};

struct LoraSpec {
  int64_t rank = 8;
  double alpha = 16;
  bool use_dora = false, use_rslora = false;
  std::vector<std::string> targets;  // how names of products end: "q_proj", "mlp.up_proj"; empty: all of the layers
  std::vector<std::string> saved;    // "lm_head", "embed_tokens": trained whole, as a copy
  uint64_t seed = 0;                 // of new adapters
  double dropout = 0;                // share of an adapter's inputs that training leaves out
  std::optional<Quantisation> quantise_base{};

  /// alpha / r, of rsLoRA (Kalajdzievski 2023) alpha / sqrt(r).
  double scale() const;
  AdapterShape adapter_of(std::string_view linear) const;
  bool saves(std::string_view module) const;
  /// Whether both are the same adapters, whatever their numbers.
  bool has_shape_of(const LoraSpec& other) const;
  bool operator==(const LoraSpec&) const = default;
};

/// What is trained by a model's keys: these adapters, or all weights. all-linear leaves `targets` empty.
std::optional<LoraSpec> lora_of(const ModelArgs& args, int64_t seed);

/// "LoRA of rank 8, alpha 16, on q_proj and v_proj".
std::string describe(const LoraSpec& lora);

/// What follows a product's name.
inline constexpr const char *kLoraA = ".lora_A.weight", *kLoraB = ".lora_B.weight",
                            *kMagnitude = ".lora_magnitude_vector", *kSavedInfix = ".modules_to_save";

}  // namespace roll
