#include "settings/memory_estimate.h"

#include <fmt/format.h>

#include <algorithm>

namespace roll {

namespace {

double bytes_per_number(const ModelArgs& args, bool on_gpu) {
  if (!on_gpu) return 4;
  return args.dtype.value_or(Dtype::kBf16) == Dtype::kFp32 ? 4 : 2;
}

/// Parameters of a rank; norms, which no rank shares, are too few to matter.
double own_parameters(const WorkerConfig& worker, const ModelSpec& spec) {
  return static_cast<double>(spec.num_parameters()) /
         static_cast<double>(worker.strategy_args.strategy_config.tensor_parallel());
}

void add_frozen(MemoryEstimate& memory, const WorkerConfig& worker, const ModelSpec& spec, double bytes) {
  memory.weights += bytes * own_parameters(worker, spec);
}

void add_trained(MemoryEstimate& memory, const WorkerConfig& worker, const ModelSpec& spec, int64_t num_ranks,
                 double bytes) {
  const StrategyConfig& strategy = worker.strategy_args.strategy_config;
  const double parameters = own_parameters(worker, spec);
  const int64_t shards = strategy.use_distributed_optimizer ? num_ranks / strategy.tensor_parallel() : 1;
  memory.weights += bytes * parameters;
  memory.gradients += 4 * parameters;
  memory.optimizer += (8 + (bytes < 4 ? 4 : 0)) * parameters / static_cast<double>(std::max<int64_t>(1, shards));
}

int64_t micro_batch_tokens(const Config& config, const WorkerConfig& worker) {
  const PackingArgs& packing = worker.packing;
  const auto budget = packing.use_sequence_packing ? packing.sequence_packing_args.max_packed_sequence_length_train
                      : packing.use_dynamic_batching_in_train ? packing.max_tokens_per_microbatch_in_train
                                                              : std::nullopt;
  return budget.value_or(worker.training_args.per_device_train_batch_size * config.sequence_length.value_or(0));
}

/// Inputs of every layer, and what one layer keeps while it is differentiated; all layers' without recomputation.
double activation_bytes(const ModelSpec& spec, int64_t tokens, double bytes, bool recompute) {
  const auto t = static_cast<double>(tokens);
  const auto layers = static_cast<double>(spec.num_layers);
  const auto inside = static_cast<double>(6 * spec.hidden_size + 3 * spec.intermediate_size +
                                          2 * (spec.num_heads + spec.num_kv_heads) * spec.head_dim);
  const double kept = recompute ? 1 : layers;
  return t * bytes * (layers * static_cast<double>(spec.hidden_size) + kept * inside);
}

double kv_bytes(const Config& config, const ModelSpec& spec, int64_t num_ranks, double bytes) {
  const int64_t tp = config.actor_infer.strategy_args.strategy_config.tensor_parallel();
  const int64_t groups = std::max<int64_t>(1, num_ranks / tp);
  const int64_t sequences = (config.sequences_per_step() + groups - 1) / groups;
  const auto tokens = static_cast<double>(std::min(sequences, config.max_running_requests)) *
                      static_cast<double>(config.sequence_length.value_or(0));
  const int64_t heads = std::max<int64_t>(1, spec.num_kv_heads / tp);
  return tokens * bytes * static_cast<double>(2 * spec.num_layers * heads * spec.head_dim);
}

}  // namespace

MemoryEstimate estimate_memory(const Config& config, const PlannedModels& models, int64_t num_ranks, bool on_gpu) {
  MemoryEstimate memory;
  const auto add_role = [&](const WorkerConfig& worker, const ModelSpec& spec) {
    const double bytes = bytes_per_number(worker.model_args, on_gpu);
    add_trained(memory, worker, spec, num_ranks, bytes);
    const int64_t tokens = micro_batch_tokens(config, worker) / worker.strategy_args.strategy_config.model_ranks();
    const double activations = activation_bytes(spec, tokens, bytes, worker.recomputes());
    memory.activations = std::max(memory.activations, activations);
  };
  add_role(config.actor_train, models.policy);
  if (config.uses_critic() && models.critic) add_role(config.critic, *models.critic);
  if (config.uses_reference())
    add_frozen(memory, config.reference, models.policy, bytes_per_number(config.reference.model_args, on_gpu));
  memory.kv_cache = kv_bytes(config, models.policy, num_ranks, bytes_per_number(config.actor_infer.model_args, on_gpu));
  return memory;
}

std::string memory_text(const MemoryEstimate& memory) {
  const auto gb = [](double bytes) {
    return bytes < 1e8 ? fmt::format("{:.3f}", bytes / 1e9) : fmt::format("{:.1f}", bytes / 1e9);
  };
  return fmt::format("weights {} + gradients {} + optimizer {} + activations {} + KV cache {} = {} GB",
                     gb(memory.weights), gb(memory.gradients), gb(memory.optimizer), gb(memory.activations),
                     gb(memory.kv_cache), gb(memory.total()));
}

}  // namespace roll
