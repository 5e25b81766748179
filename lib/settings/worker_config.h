// Configuration of one role (actor_train, critic, ...): its model, training, sampling and devices.
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

/// Tasks of a role, which decide the worker keys that it reads; other keys are noted as ignored.
struct Duties {
  bool has_model = true;
  bool trains = false;
  bool is_policy = false;  // has the policy loss
  bool forwards = false;   // computes log-probs or values of whole sequences
  bool samples = false;
  bool has_data = false;
  bool has_sets = false;
  bool routes = false;  // records or replays chosen experts
  bool leads = false;   // sets backend_timeout for all roles
};

struct WorkerConfig {
  using VariesByPlace = void;
  Duties duties;
  ModelArgs model_args;
  TrainingArgs training_args;
  DataArgs data_args;
  GeneratingArgs generating_args;
  StrategyArgs strategy_args;
  std::optional<DeviceMapping> device_mapping;
  std::vector<int> ranks{0};  // ascending; no key, see placement.h
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

  /// True if backward recomputes activations: by Megatron's keys under megatron_*, else by gradient checkpointing.
  bool recomputes() const {
    const StrategyConfig& strategy = strategy_args.strategy_config;
    if (strategy.recompute_granularity || strategy.moe_layer_recompute) return true;
    return !is_megatron(strategy_args.strategy_name) && !model_args.disable_gradient_checkpointing;
  }
  Recomputation recomputation() const {
    return recomputes() ? strategy_args.strategy_config.recomputation() : Recomputation{};
  }

  /// True if the keys ask for gathering each layer when it is computed, as ZeRO-3 does (optim/gathered_layers.h).
  bool wants_gathered_layers() const {
    return strategy_args.strategy_config.reshard_after_forward.value_or(strategy_args.strategy_name ==
                                                                        Strategy::kFsdp2Train);
  }
  bool gathers_layers() const {
    const StrategyConfig& layout = strategy_args.strategy_config;
    return wants_gathered_layers() && layout.use_distributed_optimizer && layout.pipeline_parallel() == 1 &&
           layout.expert_parallel() == 1 && !model_args.trains_adapters();
  }

  /// Data-parallel size: the number of rank groups with different sequences.
  int64_t data_ranks() const {
    return std::max<int64_t>(1, std::ssize(ranks) / strategy_args.strategy_config.model_ranks());
  }
  /// Sequences of a mini-batch (one update), over all ranks or per data-parallel rank.
  int64_t mini_batch() const {
    const TrainingArgs& args = training_args;
    const int64_t rank_size = args.per_device_train_batch_size * args.gradient_accumulation_steps;
    return args.train_batch_size.value_or(rank_size * data_ranks());
  }
  int64_t mini_batch_per_rank() const { return mini_batch() / data_ranks(); }
  int64_t micro_batch() const { return std::min(training_args.per_device_train_batch_size, mini_batch_per_rank()); }

  void fields(Keys& v);

  /// Declares the keys of a model that judges responses.
  void judging_fields(Keys& v);

 private:
  void model_fields(Keys& v);

  void training_fields(Keys& v);
};

}  // namespace roll
