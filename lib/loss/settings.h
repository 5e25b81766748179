// Resolved settings of a mini-batch's loss, built from its configuration keys (config.h) and read by the losses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loss/aggregate.h"
#include "loss/config.h"
#include "loss/terms.h"

namespace roll {

/// Difficulties that get the smallest and the largest weight.
struct DifficultyRange {
  double low = 0, high = 1;
};

struct LossSettings {
  LossModes modes;
  std::vector<std::string> counted_masks;  // counted over the whole mini-batch
  PolicyArgs policy;
  ClipRange clip;                     // clip range of PPO's ratio
  std::optional<double> dual_clip_c;  // unset: no dual clip
  std::optional<double> value_clip;   // unset: values are not clipped
  ImportanceSampling importance_sampling = ImportanceSampling::kToken;
  KlPenalty kl_penalty = KlPenalty::kK3;
  // Coefficients of the loss terms; a term with coefficient 0 is only reported.
  double policy_coef = 1, kl_coef = 0, entropy_coef = 0, positive_coef = 0;
  // Weights of sequences in the policy term.
  std::optional<DifficultyRange> difficulty_weights;
  bool length_weights = false;

  bool weighs_sequences() const { return difficulty_weights || length_weights; }
};

/// Resolves the configuration keys; nothing else interprets them.
LossSettings loss_settings(const LossConfig& config, const PolicyArgs& policy = {});

}  // namespace roll
