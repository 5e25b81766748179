// The loss of a mini-batch by its definition: all of it in one batch, in one place and in float64. What `roll
// check-loss` holds the trainer to, so nothing here deals anything out: a step is made of its responses at once, and
// neither step/step_index.h nor step/updates.h nor any communicator has a part in it.
#pragma once

#include "experience/experience.h"
#include "preview/loss_step.h"
#include "step/role_losses.h"

namespace roll {

struct LossAndGradient {
  double loss = 0;
  at::Tensor gradient;  // float64, with respect to the role's tables: log_probs and entropy, or values
};

class WholeLoss {
 public:
  /// UserError: a plug-in that cannot be opened.
  WholeLoss(const LossStep& step, const Config& config);

  /// Of these sequences of the step. UserError: those of the losses; none of their tokens count.
  LossAndGradient actor(const std::vector<int64_t>& mini_batch) const;
  LossAndGradient critic(const std::vector<int64_t>& mini_batch) const;

 private:
  Experience part(const std::vector<int64_t>& mini_batch) const;
  MiniBatchCounts counts(const Experience& mini_batch, const LossSettings& loss) const;

  const TokenTables& tables_;
  ActorLoss actor_loss_;
  CriticLoss critic_loss_;
  int64_t num_groups_;
  Experience step_;
};

}  // namespace roll
