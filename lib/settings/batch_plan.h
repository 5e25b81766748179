// The arithmetic of a step in words, so that a wrong size is seen before a run.
#pragma once

#include <cstdint>
#include <string>

#include "packing/partition.h"
#include "settings/config.h"
#include "settings/sft_config.h"

namespace roll {

/// Optimizer updates that a trained role makes in one step: ppo_epochs x mini-batches.
int64_t updates_per_step(const Config& config, const WorkerConfig& worker);

/// Why a step needs old log-probs, which a forward pass of the trainer gives before the first update: the current ones
/// will not do.
struct OldLogProbReasons {
  bool several_updates = false;  // after the first, current ones are another policy's
  bool kl_in_reward = false;
  bool correction = false;  // train_infer_correction
  bool energies = false;    // the estimator's weights come beside them
  bool dump = false;        // dump_experience shows them
  bool dropout = false;     // current ones are of a part of the policy
  bool any() const { return several_updates || kl_in_reward || correction || energies || dump || dropout; }
};
OldLogProbReasons old_log_prob_reasons(const Config& config);

/// Tokens of a micro-batch that are computed, and of its sequences.
struct FullMicroBatch {
  int64_t tokens = 0, whole = 0;
};

/// As full as they are where prompts and responses are as long as may be, of training or of forwards. Prompts are then
/// computed once, as share_prompts says, where all ranks have whole groups; else such a plan is as none here.
FullMicroBatch full_micro_batch(const Config& config, const WorkerConfig& worker, const Workload& workload,
                                bool trains);

/// max_steps, or those of num_train_epochs passes over so many rows. UserError: not one.
int64_t count_steps(const Config& config, int64_t num_rows);

/// One or two lines per role: "128 prompts x 8 responses = 1024 sequences a step; 4 data-parallel ranks\n
/// actor_train: 2 updates of 512 sequences; at most 13 micro-batches of 8192 tokens each per rank and update".
std::string batch_plan(const Config& config);

/// "sft_train: updates of 32 sequences (2 data-parallel ranks); 4 micro-batches of 4 sequences each per rank".
std::string sft_plan(const SftConfig& config);

}  // namespace roll
