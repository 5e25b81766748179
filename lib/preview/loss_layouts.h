// `roll check-loss`: trains one step under many layouts and compares with the reference loss (whole_loss.h). The real
// trainer runs, from index to summed gradients, with threads as ranks. Its models read their outputs from tables
// (loss_step.h); the gradients of these tables are compared.
#pragma once

#include <string>
#include <vector>

#include "preview/loss_step.h"
#include "settings/config.h"

namespace roll {

/// Deviation of a layout from the reference loss.
struct LayoutDeviation {
  std::string role;     // "actor" or "critic"
  std::string layout;   // "ranks 2, micro-batches of 3 sequences, shuffle 1"
  double loss = 0;      // |loss - exact| / max(|exact|, 1-norm of the exact gradient)
  double gradient = 0;  // 2-norm of the difference / 2-norm of the exact gradient
  double worst() const { return loss > gradient ? loss : gradient; }
};

/// Returns the deviations of the step's first update, for the actor and, under gae, the critic. Layouts: 1, 2, 4 ranks
/// (at most one per sequence) x micro-batches of 1, 3 and all sequences, packed greedily and balanced x two shuffles.
/// UserError: from losses, plug-ins and WholeLoss.
std::vector<LayoutDeviation> check_layouts(const LossStep& step, const Config& config);

}  // namespace roll
