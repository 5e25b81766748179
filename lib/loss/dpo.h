// Loss of direct preference optimisation (Rafailov et al. 2023), for `roll dpo`. A micro-batch holds whole pairs:
// sequences 2i and 2i + 1 are the chosen and the rejected response of a pair. With r = log-prob of a response under the
// policy minus that under the reference, summed over its tokens, and m = r(chosen) - r(rejected), the loss of a pair is
//
//   -(1 - s) log sigmoid(beta m) - s log sigmoid(-beta m)   with s = label_smoothing (cDPO, Mitchell 2023; 0: DPO)
//   (m - 1 / (2 beta))^2                                    if ipo is true (IPO, Azar et al. 2023)
//
// The loss of a mini-batch is the mean over its pairs, however it is split into micro-batches.
#pragma once

#include <ATen/core/Tensor.h>

#include "loss/losses.h"

namespace roll {

/// Keys of `roll dpo`; formulae above.
struct DpoSettings {
  double beta = 0.1;
  bool ipo = false;
  double label_smoothing = 0;  // not used with ipo
};

/// A micro-batch; T tokens, entry t belongs to token t + 1.
struct DpoInputs {
  TokenAxis axis;            // axis.group_index: index of the pair
  at::Tensor log_probs;      // [T] policy, nats, with gradient
  at::Tensor ref_log_probs;  // [T] reference, nats
  at::Tensor response_mask;  // [T] 1 for response tokens
};

/// Returns the DPO loss of a micro-batch, divided by the mini-batch's number of pairs (counts of "response_mask").
/// Metrics, in TRL's names and averaged over pairs: dpo/loss, rewards/{chosen,rejected,margins,accuracies} (a reward is
/// beta r), logps/{chosen,rejected} (log-probs of the responses). Throws Bug if a pair is not whole.
LossResult dpo_loss(const DpoInputs& inputs, const MiniBatchCounts& counts, const DpoSettings& settings);

}  // namespace roll
