// Rules of the configuration that need no model, tensor or device; each collects its complaints in the Checker.
#pragma once

#include <cstdint>

#include "config/checker.h"
#include "model/spec.h"
#include "settings/config.h"
#include "settings/sft_config.h"

namespace roll {

/// The masks that a pipeline's batches have, and those that its configured losses count.
struct LossMasks {
  std::vector<std::string> known, counted;
};
LossMasks masks_of(const Config& config);
LossMasks masks_of(const SftConfig& config);
/// The rules of the aggregation keys and of the sample weights.
void check_loss(const LossConfig& loss, const LossMasks& masks, Checker& check);

/// Notes the keys that were set and have no effect beside the others, such as pg_clip_low without use_pg_clip_range.
void note_idle_keys(const Config& config, Checker& check);

/// `low` is at most `high`; the error names the one that is set.
void check_bounds(const double& low, const double& high, Checker& check);

/// The keys of the policy loss against each other.
void check_policy(const PolicyArgs& policy, const LossConfig& loss, Checker& check);

/// The loss plug-ins of a worker: complete, there, and where they mean something.
void check_plugins(const WorkerConfig& worker, bool offline, Checker& check);

/// Filters of prompts against the group size.
void check_filters(const Config& config, Checker& check);
/// Rewards, normalisation and estimator against group size and critic; forward passes against what needs them.
void check_experience(const Config& config, Checker& check);
/// All that only a run that trains has: what is learnt from, losses, adapters, plug-ins.
void check_training(const Config& config, bool offline, Checker& check);

/// Fills ulysses_size from ROLL's place for it under some strategies.
void complete_ulysses(WorkerConfig& worker, Checker& check);
/// Fills expert_model_parallel_size from ROLL's ep_size under fsdp2; what samples shares no experts.
void complete_expert_ranks(WorkerConfig& worker, Checker& check);
/// Fills what deepspeed's stage says: its words are other keys'.
void complete_zero(WorkerConfig& worker, Checker& check);
/// Parallel sizes against the ranks of each role.
void check_layout(const Config& config, Checker& check);
void check_layout(const WorkerConfig& worker, Checker& check);
/// Of one that is not trained.
void check_forward_layout(const WorkerConfig& worker, Checker& check);
/// The worker's tensor-parallel size against the heads of its model, and what is recomputed against its layers.
void check_model_layout(const StrategyArgs& strategy, const ModelSpec& spec, Checker& check);

/// Experts are replayed of a policy that has some.
void check_routing(const Config& config, const ModelSpec& policy, Checker& check);

/// The keys of adapters (LoRA): who trains some, and what the others may say of them.
void check_adapters(const Config& config, Checker& check);
void check_adapters(const WorkerConfig& trained, Checker& check);
void check_no_adapters(const WorkerConfig& worker, Checker& check);

/// Notes what sampling does where the file leaves it to defaults that other trainers do not have.
void note_sampling(const Config& config, Checker& check);

/// Notes that a model's heads turn by LongRoPE's list of long contexts. `name`: the model's key and value.
void note_rotations(const ModelSpec& spec, int64_t longest, const std::string& name, Checker& check);

/// The models' dtypes are those of their roles; notes what they cost where there is no GPU.
void check_dtypes(const Config& config, Checker& check);
/// A CPU does not compute in float16.
bool can_run_on_cpu(const Config& config);
void check_dtype(const ModelArgs& args, bool on_gpu, Checker& check);

/// Whether metric_for_best_model exists, and where checkpoints or the end depend on it, whether the run measures it.
/// Reads the validation's rows where it is one tag's, unless `offline`.
void check_best_metric(const Config& config, bool offline, Checker& check);
void check_best_metric(const SftConfig& config, Checker& check);

/// Mini-batches against the step's sequences, groups against mini-batches, token budgets against sequence lengths.
void check_batches(const Config& config, Checker& check);
/// Mini-batches and token budgets of a fine-tuning, which has updates but no steps.
void check_sft_batch(const WorkerConfig& worker, Checker& check);
/// The longest sequence that a role sees, and the key that says so.
struct LongestSequence {
  int64_t tokens = 0;
  std::string name;
  int64_t contexts = 1;  // so many of these tokens
};
/// The packing keys of a worker.
void check_packing(const WorkerConfig& worker, const LongestSequence& longest, bool trains, bool forwards,
                   Checker& check);

/// Files exist and their first rows can be read, templates are known, every row has a domain, shares sum to 1. When
/// `offline`, a missing file is only noted.
void check_data(const Config& config, bool offline, Checker& check);
void check_data(const SftConfig& config, bool offline, Checker& check);

}  // namespace roll
