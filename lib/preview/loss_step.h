// The step that `roll check-loss` trains on: responses, and random numbers in place of what models would compute of
// them. The numbers are in tables by token, so that every layout computes the same.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "records/rollout_record.h"
#include "settings/config.h"

namespace roll {

/// [T] float32 each, by number of the token in the step: index t is about token t + 1 (values: about tokens up to t).
struct TokenTables {
  at::Tensor old_log_probs, energies, ref_log_probs, old_values;  // constants of the step
  at::Tensor log_probs, entropy, values;                          // of the models in training
};

struct LossStep {
  std::vector<RolloutRecord> records;  // in data order, baselines among them; a token's id is its number in the step
  int64_t mini_batch = 0;              // sequences
  TokenTables tables;

  int64_t num_sequences() const;
  int64_t num_tokens() const { return tables.old_log_probs.numel(); }
};

/// Two mini-batches of random responses in whole groups. A quarter of the responses are cut at the length limit; some
/// could not be judged.
LossStep random_loss_step(const Config& config);

/// A step of these responses, as read_replay() returns them, in one mini-batch.
LossStep loss_step_of(std::vector<RolloutRecord> records, const Config& config);

}  // namespace roll
