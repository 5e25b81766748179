// Computes the sizes of a training step from a complete configuration: updates, micro-batches, number of steps. Also
// describes them in words, so that a wrong size is seen before a run.
#pragma once

#include <cstdint>
#include <string>

#include "packing/partition.h"
#include "settings/config.h"
#include "settings/row_config.h"

namespace roll {

/// Returns the number of optimizer updates per step of the trained role `worker`: ppo_epochs x mini-batches in a step.
int64_t updates_per_step(const Config& config, const WorkerConfig& worker);

/// Reasons why a step computes old log-probs in a forward pass before its first update, instead of using the current
/// ones.
struct OldLogProbReasons {
  bool several_updates = false;  // a step makes several updates; after the first, the policy has changed
  bool kl_in_reward = false;     // rewards include the KL to the reference
  bool correction = false;       // train_infer_correction compares them with the sampler's log-probs
  bool energies = false;         // the advantage estimator reads token energies, which the same pass computes
  bool dump = false;             // dump_experience writes old log-probs
  bool dropout = false;          // LoRA dropout changes the current log-probs
  bool any() const { return several_updates || kl_in_reward || correction || energies || dump || dropout; }
};
OldLogProbReasons old_log_prob_reasons(const Config& config);

/// Size of a micro-batch.
struct FullMicroBatch {
  int64_t tokens = 0;           // computed tokens: a prompt that responses share counts once
  int64_t unshared_tokens = 0;  // sum of the sequences' lengths; equals `tokens` if nothing is shared
};

/// Returns the largest micro-batch of a data-parallel rank of `worker`, if every prompt and response has full length.
/// `trains`: true for a micro-batch of training, false for one of a log-prob forward. `workload`: cost of the role's
/// model, by which share_prompts: auto decides. A prompt counts once if share_prompts shares it and every rank has
/// whole groups.
FullMicroBatch full_micro_batch(const Config& config, const WorkerConfig& worker, const Workload& workload,
                                bool trains);

/// Returns max_steps; if it is null, the steps of num_train_epochs passes over `num_rows` training rows. Throws
/// UserError if these passes have too few rows for one step.
int64_t count_steps(const Config& config, int64_t num_rows);

/// Describes a step of `roll train`: a first line such as "128 prompts x 8 responses = 1024 sequences a step;
/// 4 data-parallel ranks; 500 steps", then a line per trained role such as "actor_train: 2 updates of 512 sequences a
/// step, at most 13 micro-batches of 8192 tokens each per rank".
std::string batch_plan(const Config& config);

/// Describes an update of `roll sft`, `roll dpo` or `roll distill` in a line such as "sft_train: 100 updates;
/// 32 sequences an update; 2 data-parallel ranks; 4 micro-batches of 4 sequences each per rank".
std::string sft_plan(const RowConfig& config);

}  // namespace roll
