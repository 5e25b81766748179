// Configuration of one role (actor_train, critic, ...): its model, training, sampling and devices. Members of
// WorkerConfig are keys unless a comment says otherwise; fields() has their help texts.
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

/// Tasks of a role. They decide which keys of WorkerConfig it reads; loading notes set keys that the role ignores.
struct Duties {
  bool has_model = true;   // false for the validation, which uses the trained model
  bool trains = false;     // is trained
  bool is_policy = false;  // has the policy loss
  bool forwards = false;   // computes log-probs or values of whole sequences
  bool samples = false;    // generates responses
  bool has_data = false;   // reads data_args
  bool has_sets = false;   // reads named validation sets
  bool routes = false;     // records or replays the experts that MoE routers choose
  bool leads = false;      // has the backend_timeout that counts for all roles
};

struct WorkerConfig {
  Duties duties;  // not a key
  ModelArgs model_args;
  TrainingArgs training_args;
  DataArgs data_args;
  GeneratingArgs generating_args;
  Speculation speculation = Speculation::kAuto;
  StrategyArgs strategy_args;
  std::optional<DeviceMapping> device_mapping;
  std::vector<int> ranks{0};  // not a key: global ranks that hold the role, ascending; place_roles() fills them
  std::optional<int64_t> num_gpus_per_worker;
  int64_t infer_batch_size = 16;  // sequences of a log-prob micro-batch, if no packing key sets a token budget
  double backend_timeout = 30;    // minutes that a rank waits for the others in a collective
  bool apply_loss_scale = true;   // false: gradients are also divided by the number of micro-batches
  PackingArgs packing;
  PolicyArgs policy;           // keys of the built-in policy loss
  PluginArgs loss_func;        // loss plug-in in place of the built-in loss; unset: none
  PluginArgs pg_loss_reducer;  // plug-in that reduces the policy term; unset: loss_agg_mode does
  RouterReplay router_replay;
  std::map<std::string, ValidationSet> sets;  // named validation sets

  /// True if backward recomputes activations: by Megatron's keys under megatron_*, else by gradient checkpointing.
  bool recomputes() const {
    const StrategyConfig& strategy = strategy_args.strategy_config;
    if (strategy.recompute_granularity || strategy.moe_layer_recompute) return true;
    return !is_megatron(strategy_args.strategy_name) && !model_args.disable_gradient_checkpointing;
  }
  /// Returns which layers backward recomputes; none unless recomputes().
  Recomputation recomputation() const {
    return recomputes() ? strategy_args.strategy_config.recomputation() : Recomputation{};
  }

  /// True if the keys ask for sharded weights, whose layers are gathered when they are computed, as in ZeRO-3
  /// (optim/gathered_layers.h).
  bool wants_gathered_layers() const {
    return strategy_args.strategy_config.reshard_after_forward.value_or(strategy_args.strategy_name ==
                                                                        Strategy::kFsdp2Train);
  }
  /// True if layers are gathered: the keys ask for it, and the layout allows it.
  bool gathers_layers() const {
    const StrategyConfig& layout = strategy_args.strategy_config;
    return wants_gathered_layers() && layout.use_distributed_optimizer && layout.pipeline_parallel() == 1 &&
           layout.expert_parallel() == 1 && !model_args.trains_adapters();
  }

  /// Data-parallel size: the number of rank groups with different sequences.
  int64_t data_ranks() const {
    return std::max<int64_t>(1, std::ssize(ranks) / strategy_args.strategy_config.model_ranks());
  }
  /// Sequences of a mini-batch (one update), over all ranks.
  int64_t mini_batch() const {
    const TrainingArgs& args = training_args;
    const int64_t rank_size = args.per_device_train_batch_size * args.gradient_accumulation_steps;
    return args.train_batch_size.value_or(rank_size * data_ranks());
  }
  /// Sequences of a mini-batch per data-parallel rank.
  int64_t mini_batch_per_rank() const { return mini_batch() / data_ranks(); }
  /// Sequences of a training micro-batch per data-parallel rank, if no packing key sets a token budget.
  int64_t micro_batch() const { return std::min(training_args.per_device_train_batch_size, mini_batch_per_rank()); }

  /// Declares the keys that a role with these duties reads (config/keys.h).
  void fields(Keys& v);

  /// Declares the keys of a model that judges responses, in place of fields().
  void judging_fields(Keys& v);

 private:
  void model_fields(Keys& v);
  void training_fields(Keys& v);
};

}  // namespace roll
