// `roll check-loss`: a step of training under many layouts, against the loss of its mini-batch by definition
// (whole_loss.h). The trainer itself is run, from the index of the step's responses to the sum of the gradients, on
// ranks that are threads. Its models look up their results in tables (loss_step.h), and the gradients of these tables
// are compared.
#pragma once

#include <string>
#include <vector>

#include "preview/loss_step.h"
#include "settings/config.h"

namespace roll {

struct LayoutDeviation {
  std::string role;     // "actor" or "critic"
  std::string layout;   // "ranks 2, micro-batches of 3 sequences, shuffle 1"
  double loss = 0;      // |loss - exact|, relative to the larger of |exact| and the gradient's 1-norm
  double gradient = 0;  // 2-norm of the difference, relative to the exact gradient's
  double worst() const { return loss > gradient ? loss : gradient; }
};

/// The deviations of the step's first update: ranks 1, 2, 4 (where each has a sequence) x micro-batches of 1, 3 and all
/// sequences, packed in order and balanced x two shuffles; for the actor and then, under gae, the critic. UserError:
/// those of the losses and plug-ins, and WholeLoss's.
std::vector<LayoutDeviation> check_layouts(const LossStep& step, const Config& config);

}  // namespace roll
