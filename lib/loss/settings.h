// The loss of a mini-batch as it is computed: what its keys (config.h) together mean, without their spellings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loss/aggregate.h"
#include "loss/config.h"
#include "loss/terms.h"

namespace roll {

/// Difficulties of the rows that weigh least and most.
struct DifficultyRange {
  double low = 0, high = 1;
};

struct LossSettings {
  LossModes modes;
  std::vector<std::string> counted_masks;  // over the whole mini-batch
  PolicyArgs policy;
  ClipRange clip;                     // of PPO's ratio
  std::optional<double> dual_clip_c;  // none: no dual clip
  std::optional<double> value_clip;   // none: values are free
  ImportanceSampling importance_sampling = ImportanceSampling::kToken;
  KlPenalty kl_penalty = KlPenalty::kK3;
  // The coefficient of each term in the loss; 0: the term is only measured.
  double policy_coef = 1, kl_coef = 0, entropy_coef = 0, positive_coef = 0;
  // Weights of sequences in the policy term.
  std::optional<DifficultyRange> difficulty_weights;
  bool length_weights = false;

  bool weighs_sequences() const { return difficulty_weights || length_weights; }
};

/// The only place where keys of the loss become what is computed.
LossSettings loss_settings(const LossConfig& config, const PolicyArgs& policy = {});

}  // namespace roll
