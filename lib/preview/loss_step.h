// The step that `roll check-loss` trains on: responses, and random numbers in place of model outputs. The numbers are
// in tables with a row per token, so that every layout computes with the same ones.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "records/rollout_record.h"
#include "settings/config.h"

namespace roll {

/// Model outputs for the T tokens of a step, all sequences (prompt and response, without baselines) joined: [T] float32
/// each. Entry t of log-probs, energies and entropy is about token t + 1; entry t of values is about the tokens up to
/// t.
struct TokenTables {
  at::Tensor old_log_probs, energies, ref_log_probs, old_values;  // constants of the step
  at::Tensor log_probs, entropy, values;  // outputs of the models in training; they get gradients
};

/// A step of responses with the model outputs for them.
struct LossStep {
  std::vector<RolloutRecord> records;  // data order, with greedy baselines; a token's id is its index t in the tables
  int64_t mini_batch = 0;              // sequences of an update
  TokenTables tables;

  /// Returns the number of responses without baselines.
  int64_t num_sequences() const;
  int64_t num_tokens() const { return tables.old_log_probs.numel(); }
};

/// Returns a step of two mini-batches of random responses, in whole groups; some responses are cut at the length limit
/// or not judged.
LossStep random_loss_step(const Config& config);

/// Returns a step with these responses (from read_replay()) in one mini-batch; only model outputs are random.
LossStep make_loss_step(std::vector<RolloutRecord> records, const Config& config);

}  // namespace roll
