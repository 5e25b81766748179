#include "model/features.h"

#include "model/spec.h"

namespace roll {

namespace {

Features of_mixer(const Attention& attention) {
  const Turning& turning = attention.turning;
  Features found;
  found.add(Feature::kWindow, attention.window > 0);
  found.add(Feature::kSoftCap, attention.soft_cap > 0);
  found.add(Feature::kScoreScale, attention.scale_of_scores > 0);
  found.add(Feature::kTurning, turning.rope != 0 || turning.dim != attention.head_dim || turning.interleaved ||
                                   turning.scale != 1 || turning.grows);
  found.add(Feature::kWideHeadNorm, attention.q_norm.width > attention.head_dim);
  found.add(Feature::kNormOffset, attention.q_norm.offset != 0);
  return found;
}

Features of_mixer(const GatedMlp& mlp) {
  Features found;
  found.add(Feature::kActivation, mlp.activation != Activation::kSilu);
  return found;
}

}  // namespace

Features features_of(const Layer& layer) {
  Features found;
  for (const Block& block : layer) {
    found = found | std::visit([](const auto& mixer) { return of_mixer(mixer); }, block.mixer);
    found.add(Feature::kNormOffset, block.norm.offset != 0 || block.after.offset != 0);
    found.add(Feature::kNormBehind, block.norm.width == 0 || block.after.width > 0);
    found.add(Feature::kBranchScale, block.scale != 1);
  }
  return found;
}

Features features_of(const ModelSpec& spec) {
  Features found;
  for (const Layer& layer : spec.layers()) found = found | features_of(layer);
  found.add(Feature::kNormOffset, spec.norm_offset() != 0);
  found.add(Feature::kEmbeddingScale, spec.embedding_scale != 1);
  found.add(Feature::kLogitScale, spec.logit_scale != 1);
  found.add(Feature::kLogitCap, spec.logit_cap > 0);
  return found;
}

}  // namespace roll
