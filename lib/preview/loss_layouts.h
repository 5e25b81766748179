// Checks for `roll check-loss` that the loss of a step does not depend on the layout (ranks, micro-batches, order). The
// real trainer runs one step under many layouts, with threads as ranks, and is compared with a loss that is computed at
// once (whole_loss.h). Its models read their outputs from tables (loss_step.h), whose gradients are compared, too.
#pragma once

#include <string>
#include <vector>

#include "preview/loss_step.h"
#include "settings/config.h"

namespace roll {

/// Deviation of the trainer under one layout from the exact loss and gradient of WholeLoss.
struct LayoutDeviation {
  std::string role;     // "actor" or "critic"
  std::string layout;   // "ranks 2, micro-batches of 3 sequences, shuffle 1"
  double loss = 0;      // |loss - exact loss| / max(|exact loss|, 1-norm of the exact gradient)
  double gradient = 0;  // 2-norm of (gradient - exact gradient) / 2-norm of the exact gradient
  /// Returns the larger of the two.
  double worst() const { return loss > gradient ? loss : gradient; }
};

/// Returns the deviations of the step's first update: of the actor under each layout, then of the critic if the run has
/// one. The layouts are all combinations of 1, 2 or 4 ranks (at most one per sequence), five kinds of micro-batches,
/// and two shuffles. Micro-batches have 1, 3 or all sequences, or fill a token budget, greedily or balanced. Throws
/// UserError if a loss plug-in cannot be opened, a loss throws it, or no token counts in the update.
std::vector<LayoutDeviation> check_layouts(const LossStep& step, const Config& config);

}  // namespace roll
