// Checks of the configuration before weights or devices are opened, for load_config(). Each function records errors and
// notes in `check` and returns; load_config() then throws all errors together. note_*() functions only add notes.
#pragma once

#include <cstdint>

#include "config/checker.h"
#include "model/spec.h"
#include "settings/config.h"
#include "settings/row_config.h"

namespace roll {

/// Names of token masks, as loss_mask_keys lists them.
struct LossMasks {
  std::vector<std::string> known;    // masks that the pipeline's batches have
  std::vector<std::string> counted;  // masks over whose tokens its losses average; loss_mask_keys must list them
};
/// Return the masks of `roll train`, and of `roll sft`, `roll dpo` and `roll distill`.
LossMasks loss_masks(const Config& config);
LossMasks loss_masks(const RowConfig& config);
/// Checks the aggregation keys, loss_mask_keys and sample weights.
void check_loss(const LossConfig& loss, const LossMasks& masks, Checker& check);

/// Notes keys that were set but have no effect because of another key, such as pg_clip_low without use_pg_clip_range;
/// such a key on the command line is an error.
void note_idle_keys(const Config& config, Checker& check);

/// Checks that low <= high. Both are members of the checked configuration; the error names the one that the user set.
void check_bounds(const double& low, const double& high, Checker& check);

/// Checks the keys of the policy loss against each other.
void check_policy(const PolicyArgs& policy, const LossConfig& loss, Checker& check);

/// Checks that the library and name of each loss plug-in of `worker` are set, that the library exists and exports the
/// name, and that plug-ins do not replace each other. `offline`: a missing library is only noted.
void check_plugins(const WorkerConfig& worker, bool offline, Checker& check);

/// Checks that a prompt has two or more responses if a domain's query_filter_config drops groups.
void check_filters(const Config& config, Checker& check);
/// Checks normalisation and estimator against group size and critic, and the KL, old log-prob and correction keys.
void check_experience(const Config& config, Checker& check);
/// Checks the keys that only a run that trains reads: experience, losses, adapters and plug-ins. `offline`: a missing
/// plug-in library is only noted.
void check_training(const Config& config, bool offline, Checker& check);

/// Fills strategy_config.ulysses_size from model_args.ulysses_size, where ROLL also accepts it.
void complete_ulysses(WorkerConfig& worker, Checker& check);
/// Fills expert_model_parallel_size from ROLL's ep_size under the strategy fsdp2; notes that other strategies ignore
/// ep_size.
void complete_expert_ranks(WorkerConfig& worker, Checker& check);
/// Fills use_distributed_optimizer and reshard_after_forward from zero_optimization.stage (DeepSpeed), if it is set.
void complete_zero(WorkerConfig& worker, Checker& check);
/// Checks the parallel sizes of each role against its number of ranks; WorkerConfig::ranks must be filled.
void check_layout(const Config& config, Checker& check);
/// Checks the parallel sizes of one trained role like check_layout(Config).
void check_layout(const WorkerConfig& worker, Checker& check);
/// Checks the parallel sizes of one role that only runs forward passes.
void check_forward_layout(const WorkerConfig& worker, Checker& check);
/// Checks parallel sizes, pipeline split, recomputation and expert keys against the role's model.
void check_model_layout(const StrategyArgs& strategy, const ModelSpec& spec, Checker& check);

/// Checks that routing replay is only enabled if the policy has experts.
void check_routing(const Config& config, const ModelSpec& policy, Checker& check);

/// Check the LoRA keys of trained roles. check_no_adapters() rejects LoRA keys, for a role that is not trained.
void check_adapters(const Config& config, Checker& check);
void check_adapters(const WorkerConfig& trained, Checker& check);
void check_no_adapters(const WorkerConfig& worker, Checker& check);
/// Rejects mtp_loss_coef, for a role other than the trained policy.
void check_no_mtp(const WorkerConfig& worker, Checker& check);

/// Notes the sampling defaults if top_p or top_k is not set, because other trainers have different ones.
void note_sampling(const Config& config, Checker& check);

/// Notes that sequences of `longest` tokens make a model use LongRoPE's long factors. `name`: how the note calls the
/// model, such as "pretrain = Owner/Name".
void note_rotations(const ModelSpec& spec, int64_t longest, const std::string& name, Checker& check);

/// Checks that each model's dtype suits its role; notes dtypes that are slow or unavailable without a GPU.
void check_dtypes(const Config& config, Checker& check);
/// Returns false if a model's dtype is float16, which CPUs do not support here.
bool can_run_on_cpu(const Config& config);
/// Checks the dtype of one model. `on_gpu`: the configuration places its role on GPUs.
void check_dtype(const ModelArgs& args, bool on_gpu, Checker& check);

/// Checks that metric_for_best_model is the name of a metric. If best checkpoints or early stopping depend on it, also
/// checks that the run measures it. For the metric of a tag this reads the validation rows, unless `offline`.
void check_best_metric(const Config& config, bool offline, Checker& check);
void check_best_metric(const RowConfig& config, Checker& check);

/// Checks that mini-batches divide the step's sequences, that they hold whole groups where the loss needs them, and
/// that token budgets hold the longest sequences.
void check_batches(const Config& config, Checker& check);
/// Checks the mini-batch of the trained role of `roll sft`, `roll dpo` or `roll distill`.
void check_sft_batch(const WorkerConfig& worker, Checker& check);
/// Longest sequence that a role processes. In environments it is a trajectory of several contexts (most_contexts() in
/// settings/agentic.h).
struct LongestSequence {
  int64_t tokens = 0;    // tokens in one context
  std::string name;      // key and value that set `tokens`, for messages: "sequence_length = 4096"
  int64_t contexts = 1;  // contexts in one trajectory; 1 without environments
};
/// Checks a worker's packing keys: each token budget must hold the longest sequence. `trains`: the role has
/// micro-batches of training; `forwards`: it has micro-batches of log-prob forwards.
void check_packing(const WorkerConfig& worker, const LongestSequence& longest, bool trains, bool forwards,
                   Checker& check);

/// Checks that files exist, that their first rows can be read, that templates are known, that each row has a domain and
/// that shares sum to 1. `offline`: a missing file is only noted.
void check_data(const Config& config, bool offline, Checker& check);
void check_data(const RowConfig& config, bool offline, Checker& check);

}  // namespace roll
