// Keys that say on which devices a worker lives and how it is split over them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace roll {

/// Devices of a worker, from ROLL's string: `list(range(0,8))`, `[0,1,2]`, or a sum of those. Parsed, never evaluated.
struct DeviceMapping {
  std::vector<int64_t> devices;
  bool operator==(const DeviceMapping&) const = default;
};

/// UserError (a rule without file and line) when `text` is no such expression, names a device twice, or has more than
/// 65536 devices.
DeviceMapping parse_device_mapping(const std::string& text);
void from_config_text(const std::string& text, DeviceMapping& mapping);

/// `list(range(0,8))` where the devices are consecutive, `[0,2,5]` otherwise; parse_device_mapping reads it back.
std::string to_config_text(const DeviceMapping& mapping);

struct StrategyConfig {
  std::optional<int64_t> tensor_model_parallel_size;
  std::optional<int64_t> tensor_parallel_size;
  std::optional<int64_t> context_parallel_size;
  std::optional<int64_t> ulysses_size;
  int64_t pipeline_model_parallel_size = 1;
  int64_t expert_model_parallel_size = 1;
  bool sequence_parallel = false;
  bool use_distributed_optimizer = false;
  std::optional<std::string> recompute_granularity;
  std::optional<double> gpu_memory_utilization;
  std::optional<double> mem_fraction_static;
  int64_t block_size = 16;
  std::optional<int64_t> max_model_len;
  bool enable_prefix_caching = true;
  std::optional<int64_t> max_num_batched_tokens;
  std::optional<int64_t> max_num_seqs;

  int64_t tensor_parallel() const { return tensor_model_parallel_size.value_or(tensor_parallel_size.value_or(1)); }
  int64_t context_parallel() const { return context_parallel_size.value_or(ulysses_size.value_or(1)); }
  /// Share of a device's memory for the KV cache.
  double kv_cache_share() const { return gpu_memory_utilization.value_or(mem_fraction_static.value_or(0.8)); }

  template <class V>
  void fields(V& v) {
    v("tensor_model_parallel_size", tensor_model_parallel_size, "ranks that share each weight matrix");
    v("tensor_parallel_size", tensor_parallel_size, "another spelling of tensor_model_parallel_size");
    v("context_parallel_size", context_parallel_size, "ranks that share each sequence");
    v("ulysses_size", ulysses_size, "taken as context_parallel_size");
    v("pipeline_model_parallel_size", pipeline_model_parallel_size, "ranks that share the layers");
    v("expert_model_parallel_size", expert_model_parallel_size, "ranks that share the experts");
    v("sequence_parallel", sequence_parallel, "with tensor parallelism: norms are split over tokens");
    v("use_distributed_optimizer", use_distributed_optimizer,
      "each data-parallel rank keeps a share of Adam's moments");
    v.choice("recompute_granularity", recompute_granularity, {"full", "selective"}, "activations recomputed backwards");
    v("gpu_memory_utilization", gpu_memory_utilization, "share of the device's memory for the KV cache; null: 0.8");
    v("mem_fraction_static", mem_fraction_static, "another spelling of gpu_memory_utilization");
    v("block_size", block_size, "tokens of a KV-cache block");
    v("max_model_len", max_model_len, "longest sequence of the sampler; null: prompt_length + response_length");
    v("enable_prefix_caching", enable_prefix_caching, "responses of one prompt share its KV cache");
    v("max_num_batched_tokens", max_num_batched_tokens, "prompt tokens read at once by the sampler");
    v("max_num_seqs", max_num_seqs, "sequences sampled at once; null: max_running_requests");
  }
};

struct StrategyArgs {
  std::string strategy_name = "megatron_train";
  StrategyConfig strategy_config;

  template <class V>
  void fields(V& v) {
    v.choice("strategy_name", strategy_name,
             {"megatron_train", "megatron_infer", "deepspeed_train", "deepspeed_infer", "fsdp2_train", "fsdp2_infer",
              "hf_infer", "vllm", "sglang"},
             "ROLL's back-end; each means the built-in one");
    v("strategy_config", strategy_config, "layout and settings of the back-end");
  }
};

}  // namespace roll
