// The step that `roll check-loss` trains on: responses, and what models would compute of them. No model is opened: that
// is drawn at random, and kept in tables by token, so that it is the same wherever a token comes to be computed.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "records/rollout_record.h"
#include "settings/config.h"

namespace roll {

/// By number of the token in the step, [T] float32 each: at t is what is computed of token t + 1 (values: up to t).
struct TokenTables {
  at::Tensor old_log_probs, ref_log_probs, old_values;  // constants of the step
  at::Tensor log_probs, entropy, values;                // of the models in training
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

/// These responses, as read_replay() gives them, as one mini-batch.
LossStep loss_step_of(std::vector<RolloutRecord> records, const Config& config);

}  // namespace roll
