// Configuration of a role (actor_train, ...): its devices, and how the model is split over them. Members of structs
// with fields() are configuration keys with ROLL's names; fields() in config.cpp says what each key means. nullopt: the
// key is not set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "ops/recomputation.h"

namespace roll {

class Keys;

/// Device numbers of a role. Rank r uses the device at index r of all roles' devices in ascending order (place_roles()
/// in settings/placement.h).
struct DeviceMapping {
  std::vector<int64_t> devices;  // in the order of the text, each once
  bool operator==(const DeviceMapping&) const = default;
};

/// Parses ROLL's text: `list(range(0,8))`, `[0,1,2]`, or a sum of such lists. Throws UserError, without file and line,
/// if the text is malformed, names no device, a device twice, or one outside 0..65535.
DeviceMapping parse_device_mapping(const std::string& text);
/// Sets `mapping` to parse_device_mapping(text); the configuration reader calls it.
void from_config_text(const std::string& text, DeviceMapping& mapping);

/// Returns `list(range(0,8))` if the devices are consecutive, else `[0,2,5]`; parse_device_mapping() reads it back.
std::string to_config_text(const DeviceMapping& mapping);

/// ROLL's recompute_granularity; in roll both values mean that backward recomputes activations layer by layer.
enum class Recompute { kFull, kSelective };
constexpr auto enum_names(Recompute) {
  return std::to_array<Named<Recompute>>({{Recompute::kFull, "full"}, {Recompute::kSelective, "selective"}});
}

/// Layers that backward recomputes. kUniform: all layers, recompute_num_layers at a time. kBlock: the first
/// recompute_num_layers. kAuto: like kBlock, with as few layers as memory requires.
enum class RecomputeMethod { kUniform, kBlock, kAuto };
constexpr auto enum_names(RecomputeMethod) {
  return std::to_array<Named<RecomputeMethod>>(
      {{RecomputeMethod::kUniform, "uniform"}, {RecomputeMethod::kBlock, "block"}, {RecomputeMethod::kAuto, "auto"}});
}

/// DeepSpeed's section zero_optimization.
struct ZeroOptimization {
  std::optional<int64_t> stage;

  void fields(Keys& v);
};

/// The section strategy_config. The functions below read the keys after load_config() (settings/load_config.h) has
/// copied ep_size to expert_model_parallel_size.
struct StrategyConfig {
  std::optional<int64_t> tensor_model_parallel_size;
  std::optional<int64_t> tensor_parallel_size;
  std::optional<int64_t> context_parallel_size;
  std::optional<int64_t> ulysses_size;
  std::optional<int64_t> expert_model_parallel_size, ep_size;
  std::optional<int64_t> expert_tensor_parallel_size;
  std::optional<int64_t> pipeline_model_parallel_size, virtual_pipeline_model_parallel_size;
  std::optional<int64_t> num_layers_in_first_pipeline_stage, num_layers_in_last_pipeline_stage;
  bool account_for_embedding_in_pipeline_split = false, account_for_loss_in_pipeline_split = false;
  std::optional<std::string> pipeline_model_parallel_layout;
  double moe_aux_loss_coeff = 0, moe_z_loss_coeff = 0, moe_router_bias_update_rate = 0;
  double mtp_loss_coef = 0;
  bool use_distributed_optimizer = true;
  std::optional<bool> reshard_after_forward;
  ZeroOptimization zero_optimization;
  std::optional<Recompute> recompute_granularity;
  bool moe_layer_recompute = false;
  std::optional<RecomputeMethod> recompute_method;
  std::optional<int64_t> recompute_num_layers;
  std::optional<double> gpu_memory_utilization;
  std::optional<double> mem_fraction_static;
  std::optional<int64_t> max_model_len;
  int64_t block_size = 16;
  std::optional<int64_t> num_gpu_blocks_override;
  bool enable_prefix_caching = true;
  std::optional<int64_t> max_num_batched_tokens;

  // Numbers of ranks. Some keys have two spellings; the first set one counts.
  int64_t tensor_parallel() const { return tensor_model_parallel_size.value_or(tensor_parallel_size.value_or(1)); }
  int64_t context_parallel() const { return context_parallel_size.value_or(ulysses_size.value_or(1)); }
  int64_t expert_parallel() const { return expert_model_parallel_size.value_or(1); }
  int64_t pipeline_parallel() const { return pipeline_model_parallel_size.value_or(1); }
  /// Returns the number of ranks that share one copy of the model and work on the same sequences.
  int64_t model_ranks() const { return pipeline_parallel() * tensor_parallel() * context_parallel(); }
  /// Returns the layers to recompute, if recompute_granularity or moe_layer_recompute is set. For kAuto these are all
  /// layers, until choose_recomputation() (settings/memory_estimate.h) replaces kAuto by kBlock.
  Recomputation recomputation() const {
    if (recompute_method == RecomputeMethod::kBlock) return {.layers = recompute_num_layers.value_or(0)};
    return {.layers = kEveryLayer.layers, .together = recompute_num_layers.value_or(1)};
  }
  /// Returns the share of a device's free memory for the KV cache, 0 to 1.
  double kv_cache_share() const { return gpu_memory_utilization.value_or(mem_fraction_static.value_or(0.8)); }

  void fields(Keys& v);

 private:
  void pipeline_fields(Keys& v);
};

/// Names of ROLL's back-ends; all mean roll's built-in one.
enum class Strategy {
  kMegatronTrain,
  kMegatronInfer,
  kDeepspeedTrain,
  kDeepspeedInfer,
  kFsdp2Train,
  kFsdp2Infer,
  kHfInfer,
  kVllm,
  kSglang
};
constexpr auto enum_names(Strategy) {
  return std::to_array<Named<Strategy>>({{Strategy::kMegatronTrain, "megatron_train"},
                                         {Strategy::kMegatronInfer, "megatron_infer"},
                                         {Strategy::kDeepspeedTrain, "deepspeed_train"},
                                         {Strategy::kDeepspeedInfer, "deepspeed_infer"},
                                         {Strategy::kFsdp2Train, "fsdp2_train"},
                                         {Strategy::kFsdp2Infer, "fsdp2_infer"},
                                         {Strategy::kHfInfer, "hf_infer"},
                                         {Strategy::kVllm, "vllm"},
                                         {Strategy::kSglang, "sglang"}});
}

/// Returns true for the names "..._train", which only roles that train may have.
constexpr bool trains(Strategy strategy) {
  return strategy == Strategy::kMegatronTrain || strategy == Strategy::kDeepspeedTrain ||
         strategy == Strategy::kFsdp2Train;
}
constexpr bool is_fsdp2(Strategy strategy) {
  return strategy == Strategy::kFsdp2Train || strategy == Strategy::kFsdp2Infer;
}
/// Returns true for Megatron's names: in ROLL, only these pack sequences and have the recomputation keys.
constexpr bool is_megatron(Strategy strategy) {
  return strategy == Strategy::kMegatronTrain || strategy == Strategy::kMegatronInfer;
}

/// The section strategy_args.
struct StrategyArgs {
  Strategy strategy_name = Strategy::kMegatronTrain;
  StrategyConfig strategy_config;

  void fields(Keys& v);
};

}  // namespace roll
