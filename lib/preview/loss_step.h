// The step that `roll check-loss` trains on: responses, and random numbers in place of model outputs. Tables by token
// hold these numbers, so that every layout computes the same.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "records/rollout_record.h"
#include "settings/config.h"

namespace roll {

/// [T] float32 each, indexed by the token's number t in the step; entry t describes token t + 1 (values: tokens up to
/// t).
struct TokenTables {
  at::Tensor old_log_probs, energies, ref_log_probs, old_values;  // constants of the step
  at::Tensor log_probs, entropy, values;  // outputs of the models in training; they get gradients
};

/// A step of responses with the model outputs for them.
struct LossStep {
  std::vector<RolloutRecord> records;  // data order, with baselines; a token's id is its number in the step
  int64_t mini_batch = 0;              // sequences
  TokenTables tables;

  int64_t num_sequences() const;
  int64_t num_tokens() const { return tables.old_log_probs.numel(); }
};

/// Returns two mini-batches of random responses in whole groups. Some are cut at the length limit or not judged.
LossStep random_loss_step(const Config& config);

/// Returns a step of these responses (from read_replay()) in one mini-batch.
LossStep make_loss_step(std::vector<RolloutRecord> records, const Config& config);

}  // namespace roll
