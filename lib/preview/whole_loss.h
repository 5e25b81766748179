// Reference loss for `roll check-loss`: one batch, one rank, float64. Shares no code with the trainer's distribution
// (step/step_index.h, step/updates.h, communicators).
#pragma once

#include "experience/experience.h"
#include "preview/loss_step.h"
#include "step/role_losses.h"

namespace roll {

struct LossAndGradient {
  double loss = 0;
  at::Tensor gradient;  // float64, with respect to the role's tables: log_probs and entropy, or values
};

/// Computes loss and gradient of a mini-batch of the step, by role.
class WholeLoss {
 public:
  /// UserError: a plug-in cannot be opened.
  WholeLoss(const LossStep& step, const Config& config);

  /// Return loss and gradient of these sequences of the step. UserError: from the losses; no token counts.
  LossAndGradient actor(const std::vector<int64_t>& mini_batch) const;
  LossAndGradient critic(const std::vector<int64_t>& mini_batch) const;

 private:
  Experience select_batch(const std::vector<int64_t>& mini_batch) const;
  MiniBatchCounts counts(const Experience& mini_batch, const LossSettings& loss) const;

  const TokenTables& tables_;
  ActorLoss actor_loss_;
  CriticLoss critic_loss_;
  int64_t num_groups_;
  Experience step_;
};

}  // namespace roll
