// `roll check-loss`: the configured loss of one mini-batch under many layouts, against one batch in float64. No model
// is opened: what the policy and the critic would compute is drawn at random, and the gradient with respect to it is
// what is compared. The layouts are planned and the losses called by the functions that training uses.
#pragma once

#include <string>
#include <vector>

#include "experience/experience.h"
#include "settings/config.h"

namespace roll {

struct LayoutDeviation {
  std::string role;     // "actor" or "critic"
  std::string layout;   // "ranks 2, micro-batches of 3 sequences, shuffled"
  double loss = 0;      // |loss - exact|, relative to the larger of |exact| and the gradient's 1-norm
  double gradient = 0;  // 2-norm of the difference, relative to the exact gradient's
  double worst() const { return loss > gradient ? loss : gradient; }
};

/// A mini-batch to check with: `num_sequences` random responses in whole groups, a quarter of them without any loss.
Experience random_mini_batch(const Config& config, int64_t num_sequences);

/// Fills what the models would compute (log-probs of old policy and reference, values) at random, named by config.seed,
/// then token rewards, advantages and masks as the configuration has them. Old
/// log-probs are drawn close to the experience's sampler_log_probs.
void complete_for_check(Experience& mini_batch, const Config& config);

/// Ranks 1, 2, 4 x micro-batches of 1, 3 and all sequences, packed in order and balanced x given and shuffled order;
/// for the actor and, under gae, the critic. In that order. UserError: those of the losses and plug-ins.
std::vector<LayoutDeviation> check_layouts(const Experience& mini_batch, const Config& config);

}  // namespace roll
