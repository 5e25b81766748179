#include "dist/config.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"
#include "config/keys.h"

namespace roll {

namespace {

constexpr int64_t kMaxDevices = 65536;

/// Grammar: sum := part ('+' part)*; part := plain | 'list' '(' plain ')'; plain := '[' numbers ']' | range; range :=
/// 'range' '(' a, b, step ')'
class MappingParser {
 public:
  explicit MappingParser(const std::string& text) : text_(text) {}

  std::vector<int64_t> parse() {
    do part();
    while (take("+"));
    if (skip_blanks(); at_ != text_.size()) fail();
    return std::move(devices_);
  }

 private:
  [[noreturn]] void fail() const {
    throw user_error("not a device mapping; write list(range(0,8)), [0,1,2], or a sum of such lists");
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }

  bool take(std::string_view word) {
    skip_blanks();
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }

  void expect(std::string_view word) {
    if (!take(word)) fail();
  }

  int64_t number() {
    skip_blanks();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail();
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  std::vector<int64_t> numbers(std::string_view close) {
    std::vector<int64_t> values;
    while (!take(close)) {
      values.push_back(number());
      if (take(",")) continue;
      expect(close);
      break;
    }
    return values;
  }

  void part() {
    const bool is_wrapped = take("list");
    if (is_wrapped) expect("(");
    if (take("["))
      for (const int64_t device : numbers("]")) add(device);
    else
      range();
    if (is_wrapped) expect(")");
  }

  void range() {
    expect("range");
    expect("(");
    std::vector<int64_t> values = numbers(")");
    if (values.size() == 1) values.insert(values.begin(), 0);
    if (values.size() < 2 || values.size() > 3) fail();
    const int64_t step = values.size() == 3 ? std::min(values[2], kMaxDevices) : 1;
    if (step <= 0) throw user_error("a range of devices needs a step above 0");
    for (int64_t device = values[0]; device < values[1]; device += step) add(device);
  }

  void add(int64_t device) {
    if (device < 0 || device >= kMaxDevices) throw user_error("device {} is not in 0..{}", device, kMaxDevices - 1);
    if (!seen_.insert(device).second) throw user_error("names device {} twice; name each device once", device);
    devices_.push_back(device);
  }

  const std::string& text_;
  size_t at_ = 0;
  std::vector<int64_t> devices_;
  std::set<int64_t> seen_;
};

}  // namespace

DeviceMapping parse_device_mapping(const std::string& text) {
  DeviceMapping mapping{MappingParser(text).parse()};
  if (mapping.devices.empty()) throw user_error("names no device; remove the key to run on the CPU");
  return mapping;
}

void from_config_text(const std::string& text, DeviceMapping& mapping) {
  mapping = parse_device_mapping(text);
}

std::string to_config_text(const DeviceMapping& mapping) {
  const auto& devices = mapping.devices;
  for (size_t i = 1; i < devices.size(); ++i)
    if (devices[i] != devices[i - 1] + 1) return fmt::format("[{}]", fmt::join(devices, ","));
  return devices.size() < 2 ? fmt::format("[{}]", fmt::join(devices, ","))
                            : fmt::format("list(range({},{}))", devices.front(), devices.back() + 1);
}

void ZeroOptimization::fields(Keys& v) {
  v("stage", stage,
    "ZeRO stage. 0: each data rank has the whole optimizer state; 1 and 2: data ranks share it, gradients stay whole; "
    "3: data ranks share layers and gradients, too, as with reshard_after_forward; null: use_distributed_optimizer and "
    "reshard_after_forward decide",
    within(0, 3));
  v.refused({"zero_quantized_weights", "zero_quantized_nontrainable_weights", "zero_quantized_gradients"},
            "roll does not quantise what ranks send to each other; remove it");
  v.noted({"offload_optimizer", "offload_param", "cpu_offload*"}, "the key offload controls the use of host memory");
  v.noted({"overlap_comm", "contiguous_gradients", "sub_group_size", "reduce_bucket_size", "reduce_scatter",
           "allgather_bucket_size", "allgather_partitions", "stage3_*", "round_robin_gradients",
           "zero_hpz_partition_size", "ignore_unused_parameters", "elastic_checkpoint", "load_from_fp32_weights",
           "legacy_stage1", "use_multi_rank_bucket_allreduce", "memory_efficient_linear", "mics_*"},
          "it tunes a training back-end that roll does not have");
}

namespace {

/// Keys of back-ends that train.
void training_engine_fields(Keys& v) {
  v.refused_above_one({"pipeline_parallel_size", "pp_size"},
                      "in sampling, each group of tensor ranks has all layers; set it to 1, and set "
                      "pipeline_model_parallel_size for a role that trains");
  v.noted({"enable_expert_parallel"}, "in sampling, tensor ranks share every expert's matrices");
  v.noted({"moe_*"},
          "roll has one way to send tokens to their experts, drops none, and computes the router in float32");
  v.noted({"lora_*", "enable_lora", "max_loras", "max_lora_rank"}, "the sampler uses the adapters of actor_train");
  v.noted({"sequence_parallel"},
          "tensor parallelism always includes it: tensor ranks share the tokens between matrix products");
  v.noted({"distrib_optim_fully_reshardable*", "use_distributed_model_checkpoint", "zero_allow_untested_optimizer",
           "zero_force_ds_cpu_optimizer", "fsdp_size", "efsdp_size", "offload_policy", "wrap_policy",
           "optimizer_cpu_offload", "optimizer_offload_fraction", "overlap_cpu_optimizer_d2h_h2d",
           "use_precision_aware_optimizer", "offload_backend"},
          "use_distributed_optimizer and offload decide instead; results do not depend on it");
  v.noted({"overlap_grad_reduce",
           "overlap_param_gather",
           "bias_activation_fusion",
           "apply_rope_fusion",
           "apply_tiled_mlp",
           "apply_expert_patch",
           "tiled_num_shards",
           "use_flash_attn",
           "cross_entropy_loss_fusion",
           "gradient_accumulation_fusion",
           "recompute_modules",
           "accumulate_allreduce_grads_in_fp32",
           "enable_mix_precision",
           "param_dtype",
           "reduce_dtype",
           "bf16",
           "fp16",
           "additional_configs",
           "additional_config",
           "use_batched_model_update",
           "save_only_model",
           "ckpt_format",
           "async_save",
           "train_batch_size",
           "train_micro_batch_size_per_gpu",
           "gradient_accumulation_steps",
           "gradient_clipping",
           "steps_per_print",
           "wall_clock_breakdown",
           "offload_model_from_cpu_master"},
          "it tunes a training back-end that roll does not have");
}

/// Keys of engines that sample.
void sampling_engine_fields(Keys& v) {
  v.noted(
      {"load_format",
       "sleep_level",
       "enforce_eager",
       "optimization_level",
       "disable_log_stats",
       "enable_memory_saver",
       "distributed_executor_backend",
       "cuda_graph_sizes",
       "cudagraph_capture_sizes",
       "cuda_graph_*",
       "disable_cuda_graph",
       "disable_mm_preprocessor_cache",
       "enable_chunked_prefill",
       "max_num_seqs",
       "max_running_requests",
       "chunked_prefill_size",
       "swap_space",
       "trust_remote_code",
       "dtype",
       "seed",
       "attention_backend",
       "attention_config",
       "compilation_config",
       "VLLM_*",
       "data_parallel_size",
       "dp_size",
       "limit_mm_per_prompt"},
      "it tunes a sampling engine that roll does not have; max_running_requests at the top level limits roll's own");
}

}  // namespace

void StrategyConfig::fields(Keys& v) {
  v("tensor_model_parallel_size", tensor_model_parallel_size, "ranks that share each weight matrix", rank_range());
  v("tensor_parallel_size", tensor_parallel_size, "another spelling of tensor_model_parallel_size", rank_range());
  v("context_parallel_size", context_parallel_size, "ranks that share each sequence", rank_range());
  v("ulysses_size", ulysses_size, "another spelling of context_parallel_size", rank_range());
  v("expert_model_parallel_size", expert_model_parallel_size,
    "ranks that split the experts of a mixture and have the same part of all other weights", rank_range());
  v("ep_size", ep_size, "another spelling of expert_model_parallel_size, under fsdp2", rank_range());
  v("expert_tensor_parallel_size", expert_tensor_parallel_size,
    "ranks that share each expert's matrices; must equal tensor_model_parallel_size; null: the same", rank_range());
  pipeline_fields(v);
  v("moe_aux_loss_coeff", moe_aux_loss_coeff,
    "coefficient of the routers' load-balancing loss, which is computed for each sequence alone", within(0, 1'000'000));
  v("moe_z_loss_coeff", moe_z_loss_coeff, "coefficient of the routers' z-loss, which keeps their logits small",
    within(0, 1'000'000));
  v("moe_router_bias_update_rate", moe_router_bias_update_rate,
    "in routers with a bias per expert: each update raises the bias by this if the expert had fewer tokens than the "
    "mean, and lowers it if more; 0: the biases do not change",
    within(0, 1'000'000));
  v("mtp_loss_coef", mtp_loss_coef,
    "coefficient of the loss of the policy's multi-token-prediction head, which predicts the token after the next one; "
    "the head then follows the policy, which it does not change, unless its loss is not finite: the update is then "
    "left out; 0: the head stays as it is",
    within(0, 1'000'000), must_stay());
  v("use_distributed_optimizer", use_distributed_optimizer, "data ranks share the optimizer's state (ZeRO-1)");
  v("reshard_after_forward", reshard_after_forward,
    "during an update, data ranks share layers and gradients, too, and gather each layer when they compute it "
    "(ZeRO-3); null: true under fsdp2_train");
  v("zero_optimization", zero_optimization,
    "DeepSpeed's section, whose stage stands for use_distributed_optimizer and reshard_after_forward");
  v("recompute_granularity", recompute_granularity,
    "backward recomputes activations; full and selective both do so layer by layer");
  v("moe_layer_recompute", moe_layer_recompute,
    "recomputes whole layers, as recompute_granularity does, because most of the memory is the experts'");
  v("recompute_method", recompute_method,
    "layers to recompute. uniform: all, recompute_num_layers at a time; block: the first recompute_num_layers; auto: "
    "the fewest that memory allows, found at the start; null: uniform");
  v("recompute_num_layers", recompute_num_layers,
    "layers per recomputed unit (uniform), or layers to recompute (block); null: 1 with uniform", within(0, 65536));
  v("gpu_memory_utilization", gpu_memory_utilization, "share of a GPU's free memory for the KV cache; null: 0.8",
    within(0.01, 1));
  v("mem_fraction_static", mem_fraction_static, "another spelling of gpu_memory_utilization", within(0.01, 1));
  v("block_size", block_size, "tokens per page of the KV cache; a multiple of 8", within(8, 128));
  v("num_gpu_blocks_override", num_gpu_blocks_override,
    "largest number of pages in the KV cache, on a GPU or a CPU; null: as many as fit in memory", at_least(1));
  v("enable_prefix_caching", enable_prefix_caching, "prefixes that prompts share are computed once");
  v("max_num_batched_tokens", max_num_batched_tokens,
    "largest number of tokens in one sampling step; a longer prompt is computed in pieces (CPU: at most 512)",
    token_range());
  v("max_model_len", max_model_len, "must be at least prompt_length + response_length, which are the sampler's limits",
    token_range());
  training_engine_fields(v);
  sampling_engine_fields(v);
}

void StrategyConfig::pipeline_fields(Keys& v) {
  v("pipeline_model_parallel_size", pipeline_model_parallel_size,
    "pipeline stages, which split the layers; for a role that trains or computes log-probs", rank_range());
  v("virtual_pipeline_model_parallel_size", virtual_pipeline_model_parallel_size,
    "chunks of layers per stage, interleaved with the other stages' chunks: divides the bubble by this number and "
    "multiplies the messages by it; null: the number in pipeline_model_parallel_layout, or 1",
    within(1, 4096));
  v("num_layers_in_first_pipeline_stage", num_layers_in_first_pipeline_stage,
    "layers of the first stage; the other stages share the rest evenly; null: as many as the others have", at_least(1));
  v("num_layers_in_last_pipeline_stage", num_layers_in_last_pipeline_stage,
    "layers of the last stage; the other stages share the rest evenly; null: as many as the others have", at_least(1));
  v("account_for_embedding_in_pipeline_split", account_for_embedding_in_pipeline_split,
    "the embedding counts as a layer, so that the first stage has one layer less");
  v("account_for_loss_in_pipeline_split", account_for_loss_in_pipeline_split,
    "the head and the loss count as a layer, so that the last stage has one layer less");
  v("pipeline_model_parallel_layout", pipeline_model_parallel_layout,
    "Megatron's layout of the stages, such as Et*3|t*4|t*3L. E: the embedding; t: a layer; L: the loss; t*3 and "
    "(tt|)*3: repetition. Interleaved stages: the first chunks of all stages, then the second chunks, and so on");
}

void StrategyArgs::fields(Keys& v) {
  v("strategy_name", strategy_name, "a back-end of ROLL; each stands for roll's built-in one");
  v("strategy_config", strategy_config, "layout and settings of the back-end");
}

}  // namespace roll
