// Direct preference optimisation (Rafailov et al. 2023) of a micro-batch of whole pairs: sequences 2i and 2i + 1 are
// the chosen and the rejected response of a pair. With r = log-prob of a response under the policy less that under the
// reference, summed over its tokens, and m = r of the chosen - r of the rejected, the loss of a pair is
//
//   -(1 - s) log sigmoid(beta m) - s log sigmoid(-beta m)   s = label_smoothing (cDPO, Mitchell 2023; 0: DPO)
//   (m - 1 / (2 beta))^2                                    ipo (Azar et al. 2023)
//
// and the loss of the mini-batch is the mean over its pairs, whatever its cut.
#pragma once

#include <ATen/core/Tensor.h>

#include "loss/losses.h"

namespace roll {

struct DpoSettings {
  double beta = 0.1;
  bool ipo = false;
  double label_smoothing = 0;
};

struct DpoInputs {
  TokenAxis axis;            // group_index: the number of the pair
  at::Tensor log_probs;      // [T] with gradient
  at::Tensor ref_log_probs;  // [T]
  at::Tensor response_mask;  // [T]
};

/// Metrics dpo/loss, and as TRL names them rewards/{chosen,rejected,margins,accuracies} (a reward is beta r) and
/// logps/{chosen,rejected}: means over the mini-batch's pairs, as sums. Counts: those of "response_mask".
LossResult dpo_loss(const DpoInputs& inputs, const MiniBatchCounts& counts, const DpoSettings& settings);

}  // namespace roll
