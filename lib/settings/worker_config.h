// One role of a run: which model, how it is trained or sampled from, and where.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/config.h"
#include "dist/config.h"
#include "loss/config.h"
#include "model/config.h"
#include "packing/config.h"
#include "rollout/config.h"
#include "settings/router_replay.h"
#include "settings/training_args.h"
#include "settings/validation_set.h"

namespace roll {

/// What a role does, and so which of a worker's keys it reads; the others mean nothing there and are noted.
struct Duties {
  bool has_model = true;
  bool trains = true;
  bool is_policy = true;  // the policy loss
  bool forwards = true;   // log-probs or values of whole sequences
  bool samples = true;
  bool has_data = true;
  bool has_sets = false;
  bool routes = false;  // its experts are recorded or replayed
  bool leads = true;    // settles for all roles what must be the same everywhere
};

/// One role: which model, how it is trained or sampled from, and where.
struct WorkerConfig {
  using VariesByPlace = void;
  Duties duties;
  ModelArgs model_args;
  TrainingArgs training_args;
  DataArgs data_args;
  GeneratingArgs generating_args;
  StrategyArgs strategy_args;
  std::optional<DeviceMapping> device_mapping;
  std::vector<int> ranks{0};  // where it lives, ascending: no key, see placement.h
  std::optional<int64_t> num_gpus_per_worker;
  int64_t infer_batch_size = 16;
  double backend_timeout = 30;
  bool apply_loss_scale = true;
  PackingArgs packing;
  PolicyArgs policy;
  PluginArgs loss_func;
  PluginArgs pg_loss_reducer;
  RouterReplay router_replay;
  std::map<std::string, ValidationSet> sets;

  /// Whether backward recomputes activations: by Megatron's keys under megatron_*, else gradient checkpointing.
  bool recomputes() const {
    const StrategyConfig& strategy = strategy_args.strategy_config;
    if (strategy.recompute_granularity || strategy.moe_layer_recompute) return true;
    return !is_megatron(strategy_args.strategy_name) && !model_args.disable_gradient_checkpointing;
  }
  Recomputation recomputation() const {
    return recomputes() ? strategy_args.strategy_config.recomputation() : Recomputation{};
  }

  /// Whether an update gathers each layer when it is computed (optim/gathered_layers.h).
  bool wants_gathered_layers() const {
    return strategy_args.strategy_config.reshard_after_forward.value_or(strategy_args.strategy_name ==
                                                                        Strategy::kFsdp2Train);
  }
  bool gathers_layers() const {
    const StrategyConfig& layout = strategy_args.strategy_config;
    return wants_gathered_layers() && layout.use_distributed_optimizer && layout.pipeline_parallel() == 1 &&
           layout.expert_parallel() == 1 && !model_args.trains_adapters();
  }

  /// Of its ranks those that work on different sequences: the rest share sequences and weights.
  int64_t data_ranks() const {
    return std::max<int64_t>(1, std::ssize(ranks) / strategy_args.strategy_config.model_ranks());
  }
  /// Sequences of a mini-batch (one update), of all ranks and of each data-parallel one.
  int64_t mini_batch() const {
    const TrainingArgs& args = training_args;
    const int64_t of_rank = args.per_device_train_batch_size * args.gradient_accumulation_steps;
    return args.train_batch_size.value_or(of_rank * data_ranks());
  }
  int64_t mini_batch_per_rank() const { return mini_batch() / data_ranks(); }
  int64_t micro_batch() const { return std::min(training_args.per_device_train_batch_size, mini_batch_per_rank()); }

  template <class V>
  void fields(V& v) {
    model_fields(v);
    training_fields(v);
    if (duties.has_data)
      v("data_args", data_args, "the role's data");
    else
      v.noted({"data_args"}, "only actor_train and validation have data");
    if (duties.samples)
      v("generating_args", generating_args, "the role's sampling");
    else
      v.noted({"generating_args"}, "only actor_infer and validation sample");
    if (duties.has_sets)
      v("sets", sets,
        "named sets, each with its rows and sampling, beside data_args: measured as val/NAME/avg@n, pass@k, maj@k");
    v.noted({"eval_steps"}, "eval_steps at the top level decides");
    v.noted({"worker_cls", "name"}, "the role and its keys say what a worker does");
    v.noted({"world_size"}, "the number of ranks comes from device_mapping or -n");
    v.noted({"model_update_frequency", "max_concurrency", "offload_nccl", "use_remove_padding"},
            "there are no separate engines to keep in step, and no padding");
    v.noted({"system_envs"}, "every role lives in the same processes; set system_envs at the top level");
    v.noted({"logits_in_fp32"}, "log-probs are always computed in float32");
  }

  /// Of a model that judges responses.
  template <class V>
  void judging_fields(V& v) {
    v("model_args", model_args, "the judging model");
    v("strategy_args", strategy_args, "its back-end");
    v("data_args", data_args, "its chat template");
    v("infer_batch_size", infer_batch_size, "sequences of a forward when nothing is packed", sequence_range());
    packing.fields(v);
    v("device_mapping", device_mapping, "its devices; null: those of actor_train");
    v.noted({"num_gpus_per_worker"}, "a process has one device");
  }

 private:
  template <class V>
  void model_fields(V& v) {
    if (!duties.has_model)
      return v.noted({"model_args", "strategy_args", "device_mapping", "num_gpus_per_worker", "router_replay"},
                     "it has no model of its own");
    if (duties.routes)
      v("router_replay", router_replay, "ROLL's spelling of routing_replay");
    else
      v.noted({"router_replay"}, "only the policy's experts are replayed, as actor_train and actor_infer say");
    v("model_args", model_args, "the role's model");
    v("strategy_args", strategy_args, "the role's back-end");
    v("device_mapping", device_mapping, "devices: list(range(0,8)), [0,1,2], or a sum of those");
    if (duties.samples)
      v("num_gpus_per_worker", num_gpus_per_worker, "ROLL's devices per sampling engine; must equal its parallel size",
        rank_range());
    else
      v.noted({"num_gpus_per_worker"}, "a process has one device");
    if (duties.leads)
      v("backend_timeout", backend_timeout, "minutes (fractions too) that a rank waits for the others in a collective",
        above_to(0, 7 * 24 * 60));
    else
      v.noted({"backend_timeout"}, "that of the trained policy counts for all roles");
  }

  template <class V>
  void training_fields(V& v) {
    if (duties.trains) {
      v("training_args", training_args, "the role's optimizer");
      v("apply_loss_scale", apply_loss_scale, "gradient of the whole mini-batch; false leaves 1/micro-batches in it");
      v("loss_func", loss_func, "a loss of one's own in place of the built-in one");
    } else {
      v.noted({"training_args", "apply_loss_scale"}, "it is not trained");
      v.refused({"loss_func"}, "only a role that is trained has a loss; remove it");
    }
    if (duties.is_policy) {
      policy.fields(v);
      v("pg_loss_reducer", pg_loss_reducer, "a reduction of one's own for the policy term; it wins over loss_agg_mode");
    } else {
      v.noted({"pg_variant", "tis_*", "topr_*", "cispo_*", "kimi15_tau", "gmpo_*", "sapo_*", "dppo_*"},
              "only actor_train has a policy loss");
      v.refused({"pg_loss_reducer"}, "reduces the policy term, which only actor_train has; remove it");
    }
    if (duties.forwards) {
      v("infer_batch_size", infer_batch_size, "sequences of a log-prob forward when nothing is packed",
        sequence_range());
      packing.fields(v);
    } else {
      v.noted({"infer_batch_size", "use_sequence_packing", "sequence_packing_args", "use_dynamic_batching_in_*",
               "max_tokens_per_microbatch_in_*", "sequence_length_round_in_*"},
              "it runs no forward over whole sequences");
    }
  }
};

}  // namespace roll
