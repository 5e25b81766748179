// Defines the flags of `roll init-model` for the sizes of a new model, and makes the ModelSpec from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/keys.h"
#include "model/spec.h"

namespace roll {

/// Sizes that the user gives; fields() has the meaning of each, and the default of an unset one.
struct InitSizes {
  std::string arch = architectures().front().name;  // Architecture::name
  int64_t hidden = 128, layers = 4, heads = 4;
  std::optional<int64_t> kv_heads, head_dim, intermediate, vocab;
  std::optional<int64_t> experts, experts_per_token, expert_intermediate;
  int64_t layer_input = 0, keyless_layers = 0;
  double rope_theta = 10000;
  int64_t max_positions = 32768;
  bool tie = true;   // the lm head is the embedding
  bool mtp = false;  // the model has a multi-token-prediction head

  void fields(Keys& v) {
    v("hidden", hidden, "hidden size", within(1, SizeLimits::kHidden));
    v("intermediate", intermediate, "width of the feed-forward; null: 4 x hidden",
      within(1, SizeLimits::kIntermediate));
    v("layers", layers, "layers", within(1, SizeLimits::kLayers));
    v("heads", heads, "attention heads", within(1, SizeLimits::kHeads));
    v("kv_heads", kv_heads, "key and value heads; null: the same as heads", within(1, SizeLimits::kHeads));
    v("head_dim", head_dim, "size of a head; null: hidden / heads", within(2, SizeLimits::kHeadDim));
    v("vocab", vocab, "rows of the embedding; null: what the tokenizer needs", within(1, SizeLimits::kVocab));
    v("experts", experts, "experts per layer, for architectures with experts; null: 8",
      within(1, SizeLimits::kExperts));
    v("experts_per_token", experts_per_token, "experts per token; null: 2", within(1, SizeLimits::kExperts));
    v("expert_intermediate", expert_intermediate, "width of an expert; null: hidden",
      within(1, SizeLimits::kIntermediate));
    v("layer_input", layer_input, "size of the per-layer input of a token (Gemma 4 E2B)",
      within(0, SizeLimits::kHidden));
    v("keyless_layers", keyless_layers,
      "number of last layers that read the keys and values of earlier layers, with MLPs twice as wide (Gemma 4 E2B)",
      within(0, SizeLimits::kLayers));
    v("max_positions", max_positions, "longest sequence", within(1, SizeLimits::kPositions));
    v("rope_theta", rope_theta, "base of the rotary frequencies", above_to(0, 1e12));
  }
};

/// Makes the spec of a new model. `needed_vocab`: the number of ids that the tokenizer needs; null: no tokenizer.
/// Throws UserError, which names the flag, if sizes do not fit together, the architecture lacks a feature, or the
/// vocabulary is unknown.
ModelSpec make_spec(const InitSizes& sizes, std::optional<int64_t> needed_vocab,
                    const Architectures& known = architectures());

}  // namespace roll
