#include "model/features.h"

#include <utility>

#include "model/spec.h"

namespace roll {

namespace {

Features mixer_features(const Attention& attention) {
  const RotaryRule& rotary = attention.rotary;
  Features found;
  found.add(Feature::kWindow, attention.window > 0);
  found.add(Feature::kSoftCap, attention.soft_cap > 0);
  found.add(Feature::kScoreScale, attention.score_scale > 0);
  found.add(Feature::kRotary, rotary.rope != 0 || rotary.dim != attention.head_dim || rotary.interleaved ||
                                  rotary.scale != 1 || rotary.grows);
  found.add(Feature::kWideHeadNorm, attention.q_norm.width > attention.head_dim);
  found.add(Feature::kNormOffset, attention.q_norm.offset != 0);
  found.add(Feature::kOutputGate, attention.gate.outputs > 0);
  found.add(Feature::kLateHeadNorm, attention.norms_after_rope);
  found.add(Feature::kValueNorm, attention.norms_values);
  found.add(Feature::kKeysAsValues, attention.v.outputs == 0 && attention.k.outputs > 0);
  found.add(Feature::kSharedKeys, attention.shared >= 0);
  found.add(Feature::kSinks, !attention.sinks.name.empty());
  return found;
}

Features mixer_features(const GatedDeltaNet&) {
  return {Feature::kRecurrence};
}

Features mixer_features(const LatentAttention&) {
  return {Feature::kLatents};
}

Features mixer_features(const LayerInput&) {
  return {Feature::kLayerInput};
}

Features mixer_features(const GatedMlp& mlp) {
  Features found;
  found.add(Feature::kActivation, mlp.activation != Activation::kSilu);
  return found;
}

Features mixer_features(const Experts& experts) {
  Features found;
  found.add(Feature::kActivation, experts.activation != Activation::kSilu);
  found.add(Feature::kExpertBias, experts.router.has_bias);
  found.add(Feature::kScaledRouting, !experts.router_scale.name.empty() || !experts.expert_scales.name.empty());
  return found;
}

Features mixer_features(const MlpBesideExperts& both) {
  return mixer_features(both.mlp) | mixer_features(both.experts);
}

}  // namespace

Features layer_features(const Layer& layer) {
  Features found;
  for (const Block& block : layer) {
    found = found | std::visit([](const auto& mixer) { return mixer_features(mixer); }, block.mixer);
    found.add(Feature::kNormOffset, block.norm.offset != 0 || block.after.offset != 0);
    found.add(Feature::kOutputNorm, block.norm.width == 0 || block.after.width > 0);
    found.add(Feature::kBranchScale, block.scale != 1);
    found.add(Feature::kLayerScale, !block.output_scale.name.empty());
  }
  return found;
}

Features layer_features(const ModelSpec& spec) {
  Features found;
  for (const Layer& layer : spec.layers()) found = found | layer_features(layer);
  found.add(Feature::kNormOffset, spec.norm_offset() != 0);
  found.add(Feature::kEmbeddingScale, spec.embedding_scale != 1);
  found.add(Feature::kLogitScale, spec.logit_scale != 1);
  found.add(Feature::kLogitCap, spec.logit_cap > 0);
  return found;
}

std::vector<std::string> feature_names(Features features) {
  constexpr std::pair<Feature, const char*> kWords[] = {
      {Feature::kWindow, "sliding-window attention"},
      {Feature::kSoftCap, "capped scores"},
      {Feature::kScoreScale, "scaled scores"},
      {Feature::kRotary, "another RoPE"},
      {Feature::kWideHeadNorm, "norms over all heads"},
      {Feature::kNormOffset, "norm weights around 1"},
      {Feature::kOutputNorm, "norms after blocks"},
      {Feature::kActivation, "another activation"},
      {Feature::kBranchScale, "scaled blocks"},
      {Feature::kEmbeddingScale, "scaled embeddings"},
      {Feature::kLogitScale, "scaled logits"},
      {Feature::kLogitCap, "capped logits"},
      {Feature::kOutputGate, "gated attention"},
      {Feature::kRecurrence, "gated delta nets"},
      {Feature::kValueNorm, "normed values"},
      {Feature::kKeysAsValues, "keys used as values"},
      {Feature::kLayerScale, "scaled layers"},
      {Feature::kSharedKeys, "keys and values shared between layers"},
      {Feature::kLayerInput, "per-layer inputs"},
      {Feature::kScaledRouting, "scaled routing"},
      {Feature::kLateHeadNorm, "norms of heads behind RoPE"},
      {Feature::kLatents, "latent attention"},
      {Feature::kSinks, "attention sinks"},
      {Feature::kExpertBias, "biases of experts"},
  };
  std::vector<std::string> words;
  for (const auto& [feature, text] : kWords)
    if (features.has(feature)) words.emplace_back(text);
  return words;
}

}  // namespace roll
