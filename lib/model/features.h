// In what a model computes otherwise than Llama. Training in LibTorch's operators (mixers.cpp), and sampling with them,
// computes all of it; faster back-ends say which features they know, and get no model that has others.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "model/layer.h"

namespace roll {

struct ModelSpec;

enum class Feature : uint32_t {
  kWindow = 1 << 0,          // attention that sees the last tokens only
  kSoftCap = 1 << 1,         // of attention's scores
  kScoreScale = 1 << 2,      // scores scaled by another number than 1 / sqrt(head_dim)
  kTurning = 1 << 3,         // heads that do not turn, turn in part, in other pairs, scaled, or by a second base
  kWideHeadNorm = 1 << 4,    // queries and keys normed over all heads together
  kNormOffset = 1 << 5,      // norms whose weight is added to a number
  kNormBehind = 1 << 6,      // blocks with a norm behind them, or none before
  kActivation = 1 << 7,      // other than silu
  kBranchScale = 1 << 8,     // blocks whose results are scaled
  kEmbeddingScale = 1 << 9,  // embeddings are scaled
  kLogitScale = 1 << 10,     // logits are scaled
  kLogitCap = 1 << 11,       // logits are capped
  kOutputGate = 1 << 12,     // what attention reads is gated
  kRecurrence = 1 << 13,     // states that are carried from token to token
  kValueNorm = 1 << 14,      // values are normed
  kKeysAsValues = 1 << 15,   // values are made of keys' product
  kLayerScale = 1 << 16,     // what a layer leaves is scaled by a number among the weights
  kSharedKeys = 1 << 17,     // layers read keys and values of others
  kLayerInput = 1 << 18,     // layers have inputs of their own
  kScaledRouting = 1 << 19,  // what routers read and what experts give is scaled
};

class Features {
 public:
  constexpr Features() = default;
  constexpr Features(std::initializer_list<Feature> features) {
    for (const Feature feature : features) bits_ |= static_cast<uint32_t>(feature);
  }
  constexpr void add(Feature feature, bool is_there) { bits_ |= is_there ? static_cast<uint32_t>(feature) : 0; }
  constexpr bool has(Feature feature) const { return (bits_ & static_cast<uint32_t>(feature)) != 0; }
  /// Whether it has none that `others` lack.
  constexpr bool are_of(Features others) const { return (bits_ & ~others.bits_) == 0; }
  constexpr Features operator|(Features other) const {
    other.bits_ |= bits_;
    return other;
  }
  constexpr bool operator==(const Features&) const = default;

 private:
  uint32_t bits_ = 0;
};

Features features_of(const Layer& layer);
Features features_of(const ModelSpec& spec);

/// Each of them in words.
std::vector<std::string> words_of(Features features);

}  // namespace roll
