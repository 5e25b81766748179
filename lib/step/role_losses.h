// Computes the configured losses of the policy (actor) and the critic, built-in or by a plug-in; used by StepTrainer.
// The sum of a loss over micro-batches and data-parallel ranks is the mini-batch's loss; `roll check-loss` tests this.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experience/experience.h"
#include "loss/losses.h"
#include "loss/plugin.h"
#include "model/log_probs.h"
#include "step/step_models.h"
#include "step/updates.h"

namespace roll {

/// Settings of a role's loss. A plug-in whose `library` is empty is not used.
struct RoleLossSettings {
  LossSettings built_in{};
  PluginArgs plugin{};   // replaces the whole loss
  PluginArgs reducer{};  // policy only: replaces the reduction of the policy term from tokens to a number
};

/// Returns a micro-batch's part of the loss, to be summed over micro-batches and ranks. computed: the model's results,
/// with gradient. Tensors are on the micro-batch's device. counts: of the whole mini-batch, over all ranks.
using RoleLoss =
    std::function<LossResult(const Experience& micro_batch, const Computed& computed, const MiniBatchCounts& counts)>;

/// The policy's loss.
class ActorLoss {
 public:
  /// Throws UserError if a plug-in cannot be opened.
  explicit ActorLoss(const RoleLossSettings& settings);

  /// Returns the loss as RoleLoss, with the policy's results. If the micro-batch has no old_log_probs, the log-probs of
  /// `computed`, detached, take their place.
  LossResult operator()(const Experience& micro_batch, const TokenLogProbs& computed,
                        const MiniBatchCounts& counts) const;
  const LossSettings& settings() const { return settings_; }

 private:
  LossSettings settings_;
  std::optional<LossPlugin> loss_, reducer_;
};

/// Returns a trained role's configured loss. To add a role's loss, write its row in role_losses.cpp. Throws UserError
/// if a plug-in cannot be opened, Bug if the role has no loss.
RoleLoss make_configured_loss(const std::string& role, const RoleLossSettings& settings);
/// Returns the rules of the token weights that the role's built-in loss needs (losses.h). Throws Bug if the role has no
/// loss.
std::vector<WeightRule> role_weight_rules(const std::string& role, const LossSettings& settings);

/// Returns a function for the argument `prepare` of run_updates(); null if `loss` does not weight sequences. The
/// function computes sample_weights over the whole mini-batch and sets those of this rank's part. step: facts of all
/// sequences. experience: this rank's sequences. dp: data-parallel ranks, which together hold the step. `step` and
/// `loss` must outlive the function. **Collective** over `dp`; calls of the returned function are not.
Prepare weigh_samples(const StepFacts& step, const Experience& experience, const LossSettings& loss, Communicator& dp);

/// The critic's loss.
class CriticLoss {
 public:
  /// Throws UserError if the plug-in cannot be opened.
  explicit CriticLoss(const RoleLossSettings& settings);
  /// Returns the loss as RoleLoss, with the critic's `values` [T] (with gradient).
  LossResult operator()(const Experience& micro_batch, const at::Tensor& values, const MiniBatchCounts& counts) const;
  const LossSettings& settings() const { return settings_; }

 private:
  LossSettings settings_;
  std::optional<LossPlugin> loss_;
};

}  // namespace roll
