// Configured loss of each role, built-in or a plug-in. `roll check-loss` proves that its sum over micro-batches and
// ranks is the mini-batch's loss.
#pragma once

#include <optional>

#include "experience/experience.h"
#include "loss/losses.h"
#include "loss/plugin.h"
#include "model/log_probs.h"
#include "step/step_models.h"
#include "step/updates.h"

namespace roll {

/// Built-in loss of a role, and plug-ins that replace it or its reduction (unused if `library` is empty).
struct RoleLossSettings {
  LossSettings built_in{};
  PluginArgs plugin{};   // replaces the whole loss
  PluginArgs reducer{};  // replaces the policy term's reduction
};

/// Loss of a micro-batch from the model's results `computed` (with gradient), on its device.
using RoleLoss =
    std::function<LossResult(const Experience& micro_batch, const Computed& computed, const MiniBatchCounts& counts)>;

class ActorLoss {
 public:
  /// UserError: a plug-in cannot be opened.
  explicit ActorLoss(const RoleLossSettings& settings);

  /// Returns the loss of a micro-batch, given the policy's results (with gradient), on its device.
  LossResult operator()(const Experience& micro_batch, const TokenLogProbs& computed,
                        const MiniBatchCounts& counts) const;
  const LossSettings& settings() const { return settings_; }

 private:
  LossSettings settings_;
  std::optional<LossPlugin> loss_, reducer_;
};

/// Returns a function for run_updates() that sets the sample weights of this rank's part, computed over the whole
/// mini-batch; null if `loss` does not weight sequences. `experience`: this rank's sequences of the step, which the
/// ranks of `dp` share. `step` and `loss` must outlive the function. **Collective** over `dp`; the function is not.
Prepare weigh_samples(const StepFacts& step, const Experience& experience, const LossSettings& loss, Communicator& dp);

class CriticLoss {
 public:
  explicit CriticLoss(const RoleLossSettings& settings);
  /// Returns the loss of a micro-batch, given the critic's `values` [T] (with gradient), on its device.
  LossResult operator()(const Experience& micro_batch, const at::Tensor& values, const MiniBatchCounts& counts) const;
  const LossSettings& settings() const { return settings_; }

 private:
  LossSettings settings_;
  std::optional<LossPlugin> loss_;
};

}  // namespace roll
