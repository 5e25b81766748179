// Checks the configuration without a model, tensor or device, for load_config(). Each check adds its complaints to the
// Checker.
#pragma once

#include <cstdint>

#include "config/checker.h"
#include "model/spec.h"
#include "settings/config.h"
#include "settings/row_config.h"

namespace roll {

/// Token masks that a pipeline's batches have, and the masks that its configured losses count.
struct LossMasks {
  std::vector<std::string> known, counted;
};
LossMasks loss_masks(const Config& config);
LossMasks loss_masks(const RowConfig& config);
/// Checks the aggregation keys, masks and sample weights.
void check_loss(const LossConfig& loss, const LossMasks& masks, Checker& check);

/// Notes keys that were set but have no effect because of another key, such as pg_clip_low without use_pg_clip_range.
void note_idle_keys(const Config& config, Checker& check);

/// Checks that low <= high; the complaint names the key that is set.
void check_bounds(const double& low, const double& high, Checker& check);

/// Checks the keys of the policy loss against each other.
void check_policy(const PolicyArgs& policy, const LossConfig& loss, Checker& check);

/// Checks that a worker's loss plug-ins are complete, exist and fit together. `offline`: a missing library is only
/// noted.
void check_plugins(const WorkerConfig& worker, bool offline, Checker& check);

/// Checks that prompt filters have groups of two or more responses.
void check_filters(const Config& config, Checker& check);
/// Checks normalisation and estimator against group size and critic, and the KL, old log-prob and correction keys.
void check_experience(const Config& config, Checker& check);
/// Checks the keys that only a run that trains reads: experience, losses, adapters and plug-ins.
void check_training(const Config& config, bool offline, Checker& check);

/// Fills strategy_config.ulysses_size from model_args.ulysses_size, another place that ROLL has for it.
void complete_ulysses(WorkerConfig& worker, Checker& check);
/// Fills expert_model_parallel_size from ROLL's ep_size under fsdp2; notes that other strategies ignore ep_size.
void complete_expert_ranks(WorkerConfig& worker, Checker& check);
/// Fills use_distributed_optimizer and reshard_after_forward from the DeepSpeed ZeRO stage.
void complete_zero(WorkerConfig& worker, Checker& check);
/// Checks the parallel sizes against the ranks of each role.
void check_layout(const Config& config, Checker& check);
void check_layout(const WorkerConfig& worker, Checker& check);
/// Checks the parallel sizes of a role that only runs forward passes.
void check_forward_layout(const WorkerConfig& worker, Checker& check);
/// Checks parallel sizes, pipeline split, recomputation and expert keys against the role's model.
void check_model_layout(const StrategyArgs& strategy, const ModelSpec& spec, Checker& check);

/// Checks that routing replay is only enabled if the policy has experts.
void check_routing(const Config& config, const ModelSpec& policy, Checker& check);

/// Check the LoRA keys. check_no_adapters() rejects them for a role that is not trained.
void check_adapters(const Config& config, Checker& check);
void check_adapters(const WorkerConfig& trained, Checker& check);
void check_no_adapters(const WorkerConfig& worker, Checker& check);

/// Notes the sampling defaults if top_p or top_k is not set, because other trainers have different ones.
void note_sampling(const Config& config, Checker& check);

/// Notes that sequences of `longest` tokens make a model use LongRoPE's long factors. `name`: the model's key and
/// value.
void note_rotations(const ModelSpec& spec, int64_t longest, const std::string& name, Checker& check);

/// Checks that each model's dtype suits its role; notes dtypes that are slow or unavailable without a GPU.
void check_dtypes(const Config& config, Checker& check);
/// Returns false if a model's dtype is float16, which CPUs do not support here.
bool can_run_on_cpu(const Config& config);
void check_dtype(const ModelArgs& args, bool on_gpu, Checker& check);

/// Checks that metric_for_best_model exists. If best checkpoints or early stopping depend on it, also checks that the
/// run measures it. For a tag's metric this reads the validation rows, unless `offline`.
void check_best_metric(const Config& config, bool offline, Checker& check);
void check_best_metric(const RowConfig& config, Checker& check);

/// Checks mini-batches against the step's sequences, groups against mini-batches, token budgets against sequence
/// lengths.
void check_batches(const Config& config, Checker& check);
/// Checks the mini-batch of a fine-tuning, which has updates but no steps.
void check_sft_batch(const WorkerConfig& worker, Checker& check);
/// Longest sequence that a role processes, and the key that sets it.
struct LongestSequence {
  int64_t tokens = 0;
  std::string name;
  int64_t contexts = 1;  // contexts of `tokens` tokens in one trajectory
};
/// Checks a worker's packing keys; token budgets must hold the longest sequence.
void check_packing(const WorkerConfig& worker, const LongestSequence& longest, bool trains, bool forwards,
                   Checker& check);

/// Checks that files exist, that their first rows can be read, that templates are known, that each row has a domain and
/// that shares sum to 1. `offline`: a missing file is only noted.
void check_data(const Config& config, bool offline, Checker& check);
void check_data(const RowConfig& config, bool offline, Checker& check);

}  // namespace roll
