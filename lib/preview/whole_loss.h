// Computes the exact loss for `roll check-loss`: a mini-batch at once, on one rank, in float64. It shares no code with
// the trainer's distribution over ranks and micro-batches (step/step_index.h, step/updates.h, communicators).
#pragma once

#include "experience/experience.h"
#include "preview/loss_step.h"
#include "step/role_losses.h"

namespace roll {

/// Loss of a role and its gradient, with T tokens in the step.
struct LossAndGradient {
  double loss = 0;
  // float64, by the outputs in TokenTables. Actor: [2 * T], by log_probs, then by entropy. Critic: [T], by values.
  at::Tensor gradient;
};

/// Computes loss and gradient of a mini-batch of the step, by role.
class WholeLoss {
 public:
  /// `step` must outlive this. Throws UserError if a loss plug-in cannot be opened.
  WholeLoss(const LossStep& step, const Config& config);

  /// Return loss and gradient of one mini-batch: indices of sequences in the step, counted without greedy baselines.
  /// Throw UserError if the loss does, or if no token counts in it. critic() must be called only if the run has a
  /// critic.
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
