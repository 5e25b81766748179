// Features in which a model computes differently from Llama. LibTorch's operators (mixers.cpp) support all features,
// in training and sampling. Each faster back-end has a list of the features that it supports; models with other
// features are computed by LibTorch's operators.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "model/layer.h"

namespace roll {

struct ModelSpec;

enum class Feature : uint32_t {
  kWindow = 1 << 0,          // sliding-window attention
  kSoftCap = 1 << 1,         // soft cap of attention scores
  kScoreScale = 1 << 2,      // score scale other than 1 / sqrt(head_dim)
  kRotary = 1 << 3,          // a layer without RoPE, or RoPE that is partial, interleaved, scaled or a second one
  kWideHeadNorm = 1 << 4,    // queries and keys normed over all heads together
  kNormOffset = 1 << 5,      // norms that add an offset to their weight
  kOutputNorm = 1 << 6,      // blocks with an output norm, or without an input norm
  kActivation = 1 << 7,      // activation other than SiLU
  kBranchScale = 1 << 8,     // results of blocks are scaled before they are added to x
  kEmbeddingScale = 1 << 9,  // embeddings are scaled
  kLogitScale = 1 << 10,     // logits are scaled
  kLogitCap = 1 << 11,       // logits are capped
  kOutputGate = 1 << 12,     // attention's output is gated
  kRecurrence = 1 << 13,     // recurrent states
  kValueNorm = 1 << 14,      // values are normed
  kKeysAsValues = 1 << 15,   // values are the keys before their norm and RoPE
  kLayerScale = 1 << 16,     // a layer's output is scaled by a weight
  kSharedKeys = 1 << 17,     // layers read keys and values of other layers
  kLayerInput = 1 << 18,     // per-layer inputs (LayerInput)
  kScaledRouting = 1 << 19,  // routers' inputs and experts' outputs are scaled
  kLateHeadNorm = 1 << 20,   // queries and keys are normed behind RoPE
  kLatents = 1 << 21,        // latent attention
  kSinks = 1 << 22,          // attention sinks
  kExpertBias = 1 << 23,     // routers and experts with biases
};

/// A set of features.
class Features {
 public:
  constexpr Features() = default;
  constexpr Features(std::initializer_list<Feature> features) {
    for (const Feature feature : features) bits_ |= static_cast<uint32_t>(feature);
  }
  /// Adds the feature if `is_there` is true.
  constexpr void add(Feature feature, bool is_there) { bits_ |= is_there ? static_cast<uint32_t>(feature) : 0; }
  constexpr bool has(Feature feature) const { return (bits_ & static_cast<uint32_t>(feature)) != 0; }
  /// True if `others` contains all of these features.
  constexpr bool are_within(Features others) const { return (bits_ & ~others.bits_) == 0; }
  /// Returns the union.
  constexpr Features operator|(Features other) const {
    other.bits_ |= bits_;
    return other;
  }
  constexpr bool operator==(const Features&) const = default;

 private:
  uint32_t bits_ = 0;
};

/// Return the features of a layer, or of a whole model: its layers, embedding, final norm and head.
Features layer_features(const Layer& layer);
Features layer_features(const ModelSpec& spec);

/// Returns a few words for each feature of the set, such as "capped logits", in the order of Feature.
std::vector<std::string> feature_names(Features features);

}  // namespace roll
