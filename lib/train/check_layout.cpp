#include "train/checks.h"

namespace roll {

namespace {

/// Sizes of layouts that this version does not have.
void check_sizes(const StrategyConfig& strategy, Checker& check) {
  for (const auto* size : {&strategy.tensor_model_parallel_size, &strategy.tensor_parallel_size})
    check.require(size->value_or(1) == 1, *size,
                  "needs tensor parallelism, which this version does not have; set it to 1");
  for (const auto* size : {&strategy.context_parallel_size, &strategy.ulysses_size})
    check.require(size->value_or(1) == 1, *size,
                  "needs context parallelism, which this version does not have; set it to 1");
}

bool trains_in_name(const std::string& strategy) {
  return strategy.ends_with("_train");
}

void check_trainer(const WorkerConfig& worker, Checker& check) {
  const auto& name = worker.strategy_args.strategy_name;
  check.require(trains_in_name(name), name, "a role that is trained needs a *_train strategy, e.g. megatron_train");
}

/// Every role lives on every rank, so a role's own devices must be those of the trained policy.
void check_same_devices(const WorkerConfig& worker, const WorkerConfig& main, Checker& check) {
  if (!worker.device_mapping || !main.device_mapping) return;
  check.require(*worker.device_mapping == *main.device_mapping, worker.device_mapping,
                "every role shares the same devices here, and {}; make them equal", check.name(main.device_mapping));
}

}  // namespace

void check_layout(const WorkerConfig& worker, int64_t num_ranks, Checker& check) {
  check_sizes(worker.strategy_args.strategy_config, check);
  check_trainer(worker, check);
  if (worker.device_mapping)
    check.require(static_cast<int64_t>(worker.device_mapping->devices.size()) == num_ranks, worker.device_mapping,
                  "names {} devices, but -n asks for {} ranks; make them equal", worker.device_mapping->devices.size(),
                  num_ranks);
}

void check_layout(const Config& config, int64_t num_ranks, Checker& check) {
  check_layout(config.actor_train, num_ranks, check);
  check_same_devices(config.actor_infer, config.actor_train, check);
  check_sizes(config.actor_infer.strategy_args.strategy_config, check);
  check.require(config.actor_infer.num_gpus_per_worker.value_or(1) == 1, config.actor_infer.num_gpus_per_worker,
                "must equal the sampler's tensor_parallel_size, which is 1");
  check.require(config.async_generation_ratio == 0, config.async_generation_ratio,
                "needs asynchronous sampling, which this version does not have; set it to 0");
  if (config.uses_reference()) {
    check_same_devices(config.reference, config.actor_train, check);
    check_sizes(config.reference.strategy_args.strategy_config, check);
  }
  if (config.uses_critic()) {
    check_same_devices(config.critic, config.actor_train, check);
    check_sizes(config.critic.strategy_args.strategy_config, check);
    check_trainer(config.critic, check);
  }
}

}  // namespace roll
