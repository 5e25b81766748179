// Describes a step's batch arithmetic in words, so that a wrong size is seen before a run.
#pragma once

#include <cstdint>
#include <string>

#include "packing/partition.h"
#include "settings/config.h"
#include "settings/row_config.h"

namespace roll {

/// Returns the optimizer updates of a trained role per step: ppo_epochs x mini-batches.
int64_t updates_per_step(const Config& config, const WorkerConfig& worker);

/// Reasons why a step computes old log-probs in a forward pass before its first update, instead of using the current
/// ones.
struct OldLogProbReasons {
  bool several_updates = false;  // after the first, the policy has changed
  bool kl_in_reward = false;
  bool correction = false;  // train_infer_correction
  bool energies = false;    // the estimator reads token energies, which the same pass computes
  bool dump = false;        // dump_experience writes old log-probs
  bool dropout = false;     // LoRA dropout changes the current log-probs
  bool any() const { return several_updates || kl_in_reward || correction || energies || dump || dropout; }
};
OldLogProbReasons old_log_prob_reasons(const Config& config);

/// Size of a micro-batch in tokens: computed ones, and the sum of its sequences' lengths.
struct FullMicroBatch {
  int64_t tokens = 0, whole = 0;
};

/// Returns the largest micro-batch, if every prompt and response has full length. `trains`: of training, else of
/// log-prob forwards. Prompts are counted once if share_prompts shares them and all ranks have whole groups.
FullMicroBatch full_micro_batch(const Config& config, const WorkerConfig& worker, const Workload& workload,
                                bool trains);

/// Returns max_steps, or the steps of num_train_epochs passes over `num_rows` rows. UserError: these give no full step.
int64_t count_steps(const Config& config, int64_t num_rows);

/// Returns a summary and a line per trained role:
/// "128 prompts x 8 responses = 1024 sequences a step; 4 data-parallel ranks\n
/// actor_train: 2 updates of 512 sequences; at most 13 micro-batches of 8192 tokens each per rank and update".
std::string batch_plan(const Config& config);

/// Returns "sft_train: 100 updates; 32 sequences an update; 2 data-parallel ranks; 4 micro-batches of ... per rank".
std::string sft_plan(const RowConfig& config);

}  // namespace roll
