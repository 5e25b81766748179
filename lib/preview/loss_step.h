// Makes the step that `roll check-loss` trains on: responses, and random numbers in place of model outputs. The numbers
// are in tables with an entry per token, so that every layout computes with the same ones. Greedy baselines
// (records/rollout_record.h) are not trained on.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "records/rollout_record.h"
#include "settings/config.h"

namespace roll {

/// Model outputs for the T tokens of a step, [T] float32 each. The tokens are those of all sequences (prompt, then
/// response) except greedy baselines, one after another. Entry t of log-probs, energies and entropy is about token
/// t + 1; entry t of values is about the tokens up to t.
struct TokenTables {
  at::Tensor old_log_probs, energies, ref_log_probs, old_values;  // constants of the step
  at::Tensor log_probs, entropy, values;  // outputs of the models in training, which get gradients
};

/// A step of responses with the model outputs for them.
struct LossStep {
  // In data order, greedy baselines included. Each token's id is replaced by its index t in the tables.
  std::vector<RolloutRecord> records;
  int64_t mini_batch = 0;  // number of sequences of an update
  TokenTables tables;

  /// Returns the number of responses that are not greedy baselines.
  int64_t num_sequences() const;
  int64_t num_tokens() const { return tables.old_log_probs.numel(); }
};

/// Returns a step of two mini-batches of random responses, in whole groups; some responses are cut at the length limit
/// or not judged.
LossStep random_loss_step(const Config& config);

/// Returns a step with these responses (from read_replay()) in one mini-batch; only model outputs are random.
LossStep make_loss_step(std::vector<RolloutRecord> records, const Config& config);

}  // namespace roll
