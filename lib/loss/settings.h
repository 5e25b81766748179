// Settings that the losses (losses.h) read, computed from the configuration keys (config.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loss/aggregate.h"
#include "loss/config.h"
#include "loss/terms.h"

namespace roll {

/// Range to which the difficulties of prompts are clamped before they become weights (sample_weights.h).
struct DifficultyRange {
  double low = 0;   // this difficulty and smaller ones get the smallest weight
  double high = 1;  // this difficulty and larger ones get the largest weight
};

struct LossSettings {
  LossModes modes;
  /// loss_mask_keys: masks whose tokens and sequences are counted over the whole mini-batch. The counts are the
  /// divisors of the loss (aggregate.h), so a loss can use only these masks.
  std::vector<std::string> counted_masks;
  PolicyArgs policy;                  // policy loss and its settings
  ClipRange clip;                     // clip range of PPO's ratio
  std::optional<double> dual_clip_c;  // unset: no dual clip
  std::optional<double> value_clip;   // unset: values are not clipped
  ImportanceSampling importance_sampling = ImportanceSampling::kToken;
  KlPenalty kl_penalty = KlPenalty::kK3;
  // Coefficients of the terms of actor_loss(). A term with coefficient 0 does not change the loss.
  double policy_coef = 1;    // policy loss
  double kl_coef = 0;        // KL to the reference; already multiplied by policy_coef
  double entropy_coef = 0;   // entropy bonus, which is subtracted from the loss
  double positive_coef = 0;  // negative log-likelihood of responses with a score above 0
  // Weights of sequences in the policy term (sample_weights.h).
  std::optional<DifficultyRange> difficulty_weights;  // weights by difficulty; unset: off
  bool length_weights = false;                        // weights by response length

  /// Returns true if any weights of sequences are on.
  bool weighs_sequences() const { return difficulty_weights || length_weights; }
};

/// Returns the settings of a configuration; no other code interprets these keys. policy: the policy keys of
/// actor_train. Callers that do not compute the actor's loss leave it out.
LossSettings loss_settings(const LossConfig& config, const PolicyArgs& policy = {});

}  // namespace roll
