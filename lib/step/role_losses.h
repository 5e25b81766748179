// The configured loss of each role, built-in or a plug-in: what training sums over micro-batches and ranks, and what
// `roll check-loss` proves to be the mini-batch's.
#pragma once

#include <optional>

#include "experience/experience.h"
#include "loss/losses.h"
#include "loss/plugin.h"
#include "model/log_probs.h"
#include "step/step_models.h"
#include "step/updates.h"

namespace roll {

/// The built-in loss of a role, or plug-ins that stand in for it (library empty: none).
struct RoleLossSettings {
  LossSettings built_in{};
  PluginArgs plugin{};   // in place of the whole loss
  PluginArgs reducer{};  // in place of the policy term's reduction
};

/// The loss of a micro-batch of which the role's model has computed `computed` (with gradient), on its device.
using RoleLoss =
    std::function<LossResult(const Experience& micro_batch, const Computed& computed, const MiniBatchCounts& counts)>;

class ActorLoss {
 public:
  /// UserError: a plug-in that cannot be opened.
  explicit ActorLoss(const RoleLossSettings& settings);

  /// The loss of a micro-batch of which the policy computed `computed` (with gradient), on its device.
  LossResult operator()(const Experience& micro_batch, const TokenLogProbs& computed,
                        const MiniBatchCounts& counts) const;
  const LossSettings& settings() const { return settings_; }

 private:
  LossSettings settings_;
  std::optional<LossPlugin> loss_, reducer_;
};

/// Sets the sample weights of a part of a mini-batch, which are made of the whole: what run_updates() is to do before
/// each; nothing where `loss` does not weigh sequences. `here`: the sequences of the step on this rank of `dp`, which
/// share the step out. `step` and `loss` must outlive what is given back. **Collective** over `dp`, what is given back
/// is not.
Prepare weigh_samples(const StepFacts& step, const Experience& here, const LossSettings& loss, Communicator& dp);

class CriticLoss {
 public:
  explicit CriticLoss(const RoleLossSettings& settings);
  /// The loss of a micro-batch of which the critic computed `values` [T] (with gradient), on its device.
  LossResult operator()(const Experience& micro_batch, const at::Tensor& values, const MiniBatchCounts& counts) const;
  const LossSettings& settings() const { return settings_; }

 private:
  LossSettings settings_;
  std::optional<LossPlugin> loss_;
};

}  // namespace roll
