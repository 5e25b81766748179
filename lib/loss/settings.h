// Settings of a mini-batch's loss as the losses (losses.h) read them, computed from the configuration keys (config.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loss/aggregate.h"
#include "loss/config.h"
#include "loss/terms.h"

namespace roll {

/// Difficulties that get the smallest and the largest weight (sample_weights.h).
struct DifficultyRange {
  double low = 0, high = 1;
};

struct LossSettings {
  LossModes modes;
  std::vector<std::string> counted_masks;  // loss_mask_keys: masks that are counted over the whole mini-batch
  PolicyArgs policy;                       // policy loss and its settings
  ClipRange clip;                          // clip range of PPO's ratio
  std::optional<double> dual_clip_c;       // unset: no dual clip
  std::optional<double> value_clip;        // unset: values are not clipped
  ImportanceSampling importance_sampling = ImportanceSampling::kToken;
  KlPenalty kl_penalty = KlPenalty::kK3;
  /// Coefficients of the terms of actor_loss(). A term with coefficient 0 does not change the loss. kl_coef includes
  /// policy_coef.
  double policy_coef = 1, kl_coef = 0, entropy_coef = 0, positive_coef = 0;
  // Weights of sequences in the policy term (sample_weights.h).
  std::optional<DifficultyRange> difficulty_weights;  // unset: off
  bool length_weights = false;

  /// Returns true if sequences have weights.
  bool weighs_sequences() const { return difficulty_weights || length_weights; }
};

/// Returns the settings of a configuration; no other code interprets these keys. policy: keys of actor_train; the
/// default for losses other than the actor's.
LossSettings loss_settings(const LossConfig& config, const PolicyArgs& policy = {});

}  // namespace roll
