// Table of slime: flags with dashes (--rollout-batch-size 32), mostly Megatron's. rollout-batch-size counts
// prompts, global-batch-size samples.
#include <fmt/format.h>

#include <algorithm>

#include "convert/slime_objective.h"
#include "convert/slime_trainings.h"
#include "convert/table.h"

namespace roll {

namespace slime {
namespace {

using enum Fate;

std::string second_word(const std::string& value) {
  return listed(value.substr(value.rfind(' ') + 1));
}

constexpr const char* kModelConfig = "read from the model's config.json";
constexpr const char* kEngine = "the sampler is built in";
constexpr const char* kPython = "Python code cannot be converted";

constexpr ForeignRow kRows[] = {
    {"hf-checkpoint", kCopied, "pretrain", "set-me/to-a-model-folder"},
    {"ref-load", kAutomatic, "the reference is the policy's initial weights, a Hugging Face folder"},
    {"load", kAutomatic, "roll train --resume"},
    {"save", kCopied, "output_dir"},
    {"save-hf", kAutomatic, "roll export"},
    {"save-interval", kCopied, "save_steps", "0"},
    {"eval-interval", kCopied, "eval_steps", "0"},
    {"seed", kCopied, "seed", "1234"},
    {"rollout-seed", kAutomatic, "one seed for all"},

    {"prompt-data", kCopied, "actor_train.data_args.file_name", "", listed},
    {"input-key", kCombined, "", "input"},
    {"label-key", kCombined},
    {"metadata-key", kNothing},
    {"apply-chat-template", kCombined, "", "false"},
    {"apply-chat-template-kwargs", kUnsupported,
     "only Qwen3's enable_thinking is supported, as data_args.enable_thinking"},
    {"rollout-shuffle", kAutomatic, "prompts are always shuffled, by `seed`"},
    {"rollout-batch-size", kCopied, "rollout_batch_size", "32"},
    {"n-samples-per-prompt", kCopied, "num_return_sequences_in_group", "1"},
    {"num-rollout", kCopied, "max_steps"},
    {"num-epoch", kCombined, "", "1"},
    {"global-batch-size", kCombined},
    {"num-steps-per-rollout", kCombined},
    {"micro-batch-size", kCombined, "", "1"},
    {"use-dynamic-batch-size", kCombined, "", "false"},
    {"max-tokens-per-gpu", kCombined},
    {"log-probs-max-tokens-per-gpu", kCombined},
    {"balance-data", kAutomatic, "ranks always have equal work"},
    {"rollout-max-prompt-len", kCopied, "prompt_length", "1024"},
    {"rollout-max-response-len", kCopied, "response_length", "1024"},
    {"rollout-max-context-len", kAutomatic, "prompt_length + response_length"},
    {"rollout-temperature", kCopied, "actor_infer.generating_args.temperature", "1.0"},
    {"rollout-top-p", kCopied, "actor_infer.generating_args.top_p", "1.0"},
    {"rollout-top-k", kCopied, "actor_infer.generating_args.top_k", "-1"},
    {"rollout-stop", kCopied, "actor_infer.generating_args.stop_strings", "", listed},
    {"rollout-stop-token-ids", kUnsupported, "the model's own end tokens, and stop_strings"},
    {"use-lora", kCombined, "", "false"},
    {"enable-lora", kCombined, "", "false"},
    {"lora-rank", kCombined, "", "0"},
    {"lora-alpha", kCombined},
    {"lora-dropout", kCombined, "", "0.0"},
    {"lora-target-modules", kCombined, "", "all-linear"},
    {"target-modules", kCombined},
    {"lora-adapter-path", kRefused,
     "to start from adapters, give their folder as --hf-checkpoint after the file, and this key as null"},
    {"only-train-params-name-list", kRefused, "training only some weights is not converted; use adapters (LoRA)"},
    {"freeze-params-name-list", kRefused, "frozen weights are not converted; use adapters (LoRA)"},
    {"freeze-indexer", kRefused, "frozen weights are not converted; use adapters (LoRA)"},
    {"rollout-function-path", kCombined},
    {"custom-generate-function-path", kRefused, "a custom rollout function (agents) cannot be converted"},
    {"custom-rm-path", kCombined},
    {"custom-reward-post-process-path", kCombined},
    {"custom-rollout-log-function-path", kNothing},
    {"custom-eval-rollout-log-function-path", kNothing},
    {"custom-update-weight-post-write-path", kNothing},
    {"custom-*", kRefused, kPython},
    {"rollout-sample-filter-path", kRefused, "a sample filter in Python cannot be converted"},
    {"buffer-filter-path", kRefused, "a sample filter in Python cannot be converted"},
    {"rollout-all-samples-process-path", kRefused, kPython},
    {"rollout-data-postprocess-path", kRefused, kPython},
    {"rollout-sample-hook-path", kRefused, kPython},
    {"data-source-path", kUnsupported, kPython},
    {"mask-offpolicy-in-partial-rollout", kRefused, "masking tokens of an earlier policy is not supported"},
    {"megatron-config-path", kRefused, "a separate file with settings of roles is not read"},
    {"disable-compute-advantages-and-returns", kCombined, "", "false"},
    {"reset-optimizer-states", kRefused, "resetting the optimizer at each step is not supported"},
    {"use-stateless-adam", kRefused, "resetting the optimizer at each step is not supported"},
    {"use-routing-replay", kRefused,
     "replaying the trainer's routing is not supported; routing_replay replays the sampler's (R3)"},
    {"use-rollout-routing-replay", kCopied, "routing_replay"},
    {"loss-mask-type", kNothing, "only for several turns"},
    {"log-reward-category", kNothing},
    {"check-weight-update-equal", kNothing},
    {"get-mismatch-metrics", kAutomatic, "train_infer_correction writes such metrics"},
    {"use-rollout-entropy", kAutomatic, "entropy is computed if it is needed"},
    {"over-sampling-batch-size", kAutomatic, "dropped groups are replaced prompt by prompt"},
    {"dynamic-sampling-filter-path", kCombined},
    {"partial-rollout", kAutomatic, "no response is thrown away; async_generation_ratio samples ahead"},
    {"eval-prompt-data", kCopied, "validation.data_args.file_name", "", second_word},
    {"n-samples-per-eval-prompt", kCopied, "validation.generating_args.num_return_sequences", "1"},
    {"eval-temperature", kCopied, "validation.generating_args.temperature"},
    {"eval-top-p", kCopied, "validation.generating_args.top_p"},
    {"eval-top-k", kCopied, "validation.generating_args.top_k"},
    {"eval-max-response-len", kCopied, "validation.generating_args.max_new_tokens"},
    {"eval-*", kNothing},
    {"skip-eval-before-train", kNothing},
    {"rm-type", kUnsupported, "rewards.<name>.type selects the reward; the converted file has math_rule"},
    {"rm-url", kUnsupported, "rewards.<name>.type: command runs your own program"},
    {"reward-key", kNothing},
    {"group-rm", kAutomatic, "detected from the function's parameters: samples are a list"},

    {"advantage-estimator", kCombined, "", "grpo"},
    {"disable-grpo-std-normalization", kCombined, "", "false"},
    {"disable-rewards-normalization", kCombined, "", "false"},
    {"normalize-advantages", kCopied, "whiten_advantages", "false"},
    {"gamma", kCombined, "", "1.0"},
    {"lambd", kCopied, "lambd", "1.0"},
    {"eps-clip", kCombined, "", "0.2"},
    {"eps-clip-high", kCombined},
    {"eps-clip-c", kCombined},
    {"value-clip", kCopied, "value_clip", "0.2"},
    {"use-kl-loss", kCopied, "use_kl_loss", "false"},
    {"kl-loss-coef", kCombined, "", "0.0"},
    {"kl-loss-type", kCombined, "", "k1"},
    {"kl-coef", kCombined, "", "0.0"},
    {"entropy-coef", kCopied, "entropy_loss_coef", "0.0"},
    {"calculate-per-token-loss", kCombined, "", "false"},
    {"loss-type", kCombined, "", "policy_loss"},
    {"use-tis", kCopied, "train_infer_correction.is_weight.enabled"},
    {"tis-clip", kCombined, "", "2.0"},
    {"tis-clip-low", kCombined, "", "0"},
    {"use-rollout-logprobs", kRefused, "old log-probs from the sampler are not converted"},
    {"use-unbiased-kl", kRefused, "a KL weighted by the ratio is not supported"},
    {"use-opsm", kRefused, "off-policy sequence masking (OPSM) is not supported"},
    {"opsm-delta", kNothing, "no effect without use-opsm"},
    {"ref-update-interval", kRefused, "a reference that is updated is not supported; roll keeps it frozen"},
    {"critic-load", kAutomatic, "the critic starts from the policy's weights"},
    {"critic-save", kAutomatic, "checkpoints contain the critic"},
    {"num-critic-only-steps", kCopied, "critic_warmup", "0"},
    {"critic-lr", kCopied, "critic.training_args.learning_rate"},
    {"use-opd", kCombined, "", "false"},
    {"opd-type", kCombined},
    {"opd-kl-coef", kCombined, "", "1.0"},
    {"opd-teacher-load", kCombined},
    {"opd-*", kRefused, "not a supported setting of distillation"},

    {"lr", kCopied, "actor_train.training_args.learning_rate", "1e-6"},
    {"lr-decay-style", kCopied, "actor_train.training_args.lr_scheduler_type", "linear"},
    {"lr-warmup-iters", kCopied, "actor_train.training_args.warmup_steps"},
    {"lr-warmup-fraction", kCopied, "actor_train.training_args.warmup_ratio"},
    {"weight-decay", kCopied, "actor_train.training_args.weight_decay", "0.01"},
    {"adam-beta1", kCopied, "actor_train.training_args.adam_beta1", "0.9"},
    {"adam-beta2", kCopied, "actor_train.training_args.adam_beta2", "0.999"},
    {"adam-eps", kCopied, "actor_train.training_args.adam_epsilon"},
    {"clip-grad", kCopied, "max_grad_norm", "1.0"},
    {"optimizer", kCombined, "", "adam"},
    {"optimizer-*", kAutomatic, "`offload: true` moves idle models to the host"},
    {"use-precision-aware-optimizer", kAutomatic, "states are float32"},

    {"actor-num-nodes", kCombined, "", "1"},
    {"actor-num-gpus-per-node", kCombined, "", "8"},
    {"rollout-num-gpus", kCombined},
    {"rollout-num-gpus-per-engine", kCombined, "", "1"},
    {"num-gpus-per-node", kAutomatic, "read from the hostfile"},
    {"colocate", kCombined, "", "false"},
    {"offload*", kCopied, "offload"},
    {"tensor-model-parallel-size", kCombined, "", "1"},
    {"context-parallel-size", kCombined, "", "1"},
    {"sequence-parallel", kAutomatic, "always on with several tensor ranks"},
    {"pipeline-model-parallel-size", kCombined, "", "1"},
    {"num-virtual-stages-per-pipeline-rank", kCombined},
    {"num-layers-per-virtual-pipeline-stage", kRefused,
     "chunks of so many layers are not converted; give --num-virtual-stages-per-pipeline-rank"},
    {"decoder-first-pipeline-num-layers", kCombined},
    {"decoder-last-pipeline-num-layers", kCombined},
    {"account-for-embedding-in-pipeline-split", kCombined},
    {"account-for-loss-in-pipeline-split", kCombined},
    {"pipeline-model-parallel-layout", kCombined},
    {"expert-model-parallel-size", kCombined, "", "1"},
    {"expert-tensor-parallel-size", kAutomatic, "tensor ranks split experts' matrices like all others"},
    {"num-experts", kAutomatic, "read from the model's config.json"},
    {"moe-aux-loss-coeff", kCopied, "actor_train.strategy_args.strategy_config.moe_aux_loss_coeff"},
    {"moe-z-loss-coeff", kCopied, "actor_train.strategy_args.strategy_config.moe_z_loss_coeff"},
    {"moe-router-bias-update-rate", kCopied, "actor_train.strategy_args.strategy_config.moe_router_bias_update_rate"},
    {"moe-expert-capacity-factor", kRefused, "dropping tokens of full experts is not supported"},
    {"moe-input-jitter-eps", kRefused, "noise on the router's input is not supported"},
    {"moe-*", kAutomatic, "experts are read from the model's config.json, and roll dispatches tokens in one way"},
    {"multi-latent-attention", kRefused, "not a supported attention"},
    {"mtp-num-layers", kAutomatic, "the head is read from the model's folder"},
    {"enable-mtp-training", kCombined},
    {"mtp-loss-scaling-factor", kCombined, "", "0.1"},
    {"multimodal-keys", kRefused, "images are not supported; roll reads text only"},
    {"spec", kCombined},
    {"attention-output-gate", kCombined},
    {"debug-train-only", kCombined, "", "false"},
    {"keep-old-actor", kAutomatic, "ratios are relative to the weights at the start of the step"},
    {"seq-length", kAutomatic, "prompt_length + response_length"},
    {"ref-micro-batch-size", kAutomatic, "reference.infer_batch_size, or packing"},
    {"min-lr", kCombined, "", "0"},
    {"rotary-*", kAutomatic, kModelConfig},
    {"max-position-embeddings", kAutomatic, kModelConfig},
    {"position-embedding-type", kAutomatic, kModelConfig},
    {"make-vocab-size-divisible-by", kAutomatic, kModelConfig},
    {"apply-layernorm-1p", kAutomatic, kModelConfig},
    {"post-mlp-layernorm", kAutomatic, kModelConfig},
    {"post-self-attn-layernorm", kAutomatic, kModelConfig},
    {"use-gated-attention", kCombined},
    {"no-rope-fusion", kAutomatic},
    {"no-masked-softmax-fusion", kAutomatic},
    {"no-check-for-nan-in-loss-and-grad", kAutomatic},
    {"no-position-embedding", kAutomatic, kModelConfig},
    {"log-passrate", kAutomatic, "always a metric"},
    {"log-probs-chunk-size", kAutomatic},
    {"data-pad-size-multiplier", kAutomatic, "there is no padding"},
    {"allgather-cp", kAutomatic, "always"},
    {"overlap-*", kAutomatic},
    {"save-debug-rollout-data", kAutomatic, "rollouts/ has every response"},
    {"rollout-buffer-url", kRefused, "responses from a custom server are not supported"},
    {"recompute-granularity", kCopied, "actor_train.strategy_args.strategy_config.recompute_granularity"},
    {"recompute-method", kCopied, "actor_train.strategy_args.strategy_config.recompute_method"},
    {"recompute-num-layers", kCopied, "actor_train.strategy_args.strategy_config.recompute_num_layers"},
    {"recompute-*", kAutomatic, "recomputation is layer by layer"},
    {"attention-dropout", kRefused, "dropout is supported for adapters only"},
    {"hidden-dropout", kRefused, "dropout is supported for adapters only"},
    {"attention-*", kAutomatic},
    {"accumulate-allreduce-grads-in-fp32", kAutomatic, "always"},
    {"train-backend", kAutomatic, "one built-in back-end"},
    {"megatron-to-hf-mode", kAutomatic, "models are Hugging Face folders"},
    {"sglang-mem-fraction-static", kCopied, "actor_infer.strategy_args.strategy_config.mem_fraction_static"},
    {"sglang-*", kAutomatic, kEngine},
    {"update-weight-*", kAutomatic, "sampler and trainer share their weights"},
    {"use-wandb", kAutomatic, kCurves},
    {"use-tensorboard", kAutomatic, "track_with"},
    {"wandb-*", kNothing},
    {"tb-*", kNothing},
    {"num-layers", kAutomatic, kModelConfig},
    {"hidden-size", kAutomatic, kModelConfig},
    {"ffn-hidden-size", kAutomatic, kModelConfig},
    {"num-attention-heads", kAutomatic, kModelConfig},
    {"num-query-groups", kAutomatic, kModelConfig},
    {"group-query-attention", kAutomatic, kModelConfig},
    {"kv-channels", kAutomatic, kModelConfig},
    {"qk-layernorm", kAutomatic, kModelConfig},
    {"vocab-size", kAutomatic, kModelConfig},
    {"normalization", kAutomatic, kModelConfig},
    {"norm-epsilon", kAutomatic, kModelConfig},
    {"rotary-base", kAutomatic, kModelConfig},
    {"use-rotary-position-embeddings", kAutomatic, kModelConfig},
    {"swiglu", kAutomatic, kModelConfig},
    {"add-qkv-bias", kAutomatic, kModelConfig},
    {"disable-bias-linear", kAutomatic, kModelConfig},
    {"untie-embeddings-and-output-weights", kAutomatic, kModelConfig},
};

constexpr std::pair<const char*, const char*> kStageKeys[] = {
    {"pipeline-model-parallel-size", "pipeline_model_parallel_size"},
    {"num-virtual-stages-per-pipeline-rank", "virtual_pipeline_model_parallel_size"},
    {"decoder-first-pipeline-num-layers", "num_layers_in_first_pipeline_stage"},
    {"decoder-last-pipeline-num-layers", "num_layers_in_last_pipeline_stage"},
    {"account-for-embedding-in-pipeline-split", "account_for_embedding_in_pipeline_split"},
    {"account-for-loss-in-pipeline-split", "account_for_loss_in_pipeline_split"},
    {"pipeline-model-parallel-layout", "pipeline_model_parallel_layout"},
};

/// Megatron needs Python to describe such models; roll reads their folders.
void check_model(const Conversion& c) {
  const std::string spec = c.text("spec");
  const bool is_gated = spec.find("qwen3_5") != spec.npos || spec.find("qwen3_next") != spec.npos;
  if (!spec.empty() && !is_gated && spec.find("models.glm4 ") == spec.npos)
    throw c.refused("spec", "a model defined in Python is not supported; those of GLM-4, Qwen3-Next and Qwen3.5 are");
  for (const char* gate : {"use-gated-attention", "attention-output-gate"})
    if (c.is_true(gate) && !is_gated) throw c.refused(gate, "not a supported attention");
}

void combine_devices(Conversion& c) {
  c.set_num_ranks("actor-num-gpus-per-node", "actor-num-nodes");
  set_devices(c, {"actor-num-gpus-per-node", "actor-num-nodes"});
  const int64_t engine = c.count("rollout-num-gpus-per-engine");
  if (!c.is_true("colocate") && c.is_set("rollout-num-gpus"))
    c.set("actor_infer.device_mapping",
          fmt::format("\"list(range({},{}))\"", c.num_ranks, c.num_ranks + c.count("rollout-num-gpus")),
          c.origin("rollout-num-gpus") + ", beside the others");
  c.set("actor_infer.strategy_args.strategy_config.tensor_parallel_size", fmt::format("{}", engine),
        c.origin("rollout-num-gpus-per-engine"));
  for (const char* role : {"actor_train", "reference", "critic"}) {
    const std::string layout = std::string(role) + ".strategy_args.strategy_config.";
    c.set_from(layout + "tensor_model_parallel_size", "tensor-model-parallel-size");
    c.set_from(layout + "context_parallel_size", "context-parallel-size");
  }
  const int64_t stages = set_stages(c, kStageKeys);
  set_expert_ranks(c, "expert-model-parallel-size",
                   std::max<int64_t>(1, c.num_ranks / (c.count("tensor-model-parallel-size") * stages)));
}

void combine_batches(Conversion& c) {
  const int64_t sampled = c.count("rollout-batch-size") * c.count("n-samples-per-prompt");
  int64_t update = sampled;
  std::string origin = "all samples of a step: global-batch-size is not set";
  if (c.is_set("num-steps-per-rollout")) {
    update = std::max<int64_t>(1, sampled / c.count("num-steps-per-rollout"));
    origin = "samples / " + c.origin("num-steps-per-rollout");
  }
  if (c.is_set("global-batch-size")) {
    update = c.count("global-batch-size");
    origin = c.origin("global-batch-size") + ", which counts samples";
  }
  const bool packs = c.is_true("use-dynamic-batch-size");
  for (const char* role : {"actor_train", "critic"})
    set_updates(c, {role, update, origin, packs ? 1 : c.count("micro-batch-size"),
                    c.count("tensor-model-parallel-size") * c.count("context-parallel-size") *
                        c.count("pipeline-model-parallel-size")});
  if (!packs || !c.is_set("max-tokens-per-gpu")) return;
  constexpr const char* kForward = "log-probs-max-tokens-per-gpu";
  set_packing(c, {.train = c.count("max-tokens-per-gpu"),
                  .forward = c.count(c.text(kForward).empty() ? "max-tokens-per-gpu" : kForward),
                  .ranks = c.count("context-parallel-size"),
                  .origin = c.origin({"max-tokens-per-gpu", kForward})});
}

void combine_slime(Conversion& c) {
  refuse_other_models(c, "hf-checkpoint");
  check_model(c);
  if (c.is_true("enable-mtp-training")) set_mtp(c, "actor_train", "mtp-loss-scaling-factor");
  if (is_slime_fine_tuning(c)) {
    combine_devices(c);
    combine_batches(c);
    return combine_slime_fine_tuning(c);
  }
  combine_slime_objective(c);
  combine_devices(c);
  combine_slime_rollout(c);
  combine_batches(c);
  if (!c.is_set("num-rollout")) c.set_from("num_train_epochs", "num-epoch");
  if (c.is_set("eval-max-response-len") && c.draft.find("validation.data_args.file_name")) {
    const int64_t prompt = c.count("rollout-max-prompt-len"), response = c.count("eval-max-response-len");
    c.set("val_prompt_length", fmt::format("{}", prompt), c.origin("rollout-max-prompt-len"));
    c.set("val_sequence_length", fmt::format("{}", prompt + response),
          "val_prompt_length, and " + c.origin("eval-max-response-len"));
  }
  set_columns(c, "input-key", "apply-chat-template", "label-key");
  set_data(c, {"rollout-temperature", "rollout-top-p", "rollout-top-k", "n-samples-per-eval-prompt"});
  set_reward(c);
  combine_slime_distillation(c);
  set_roles(c);
}

}  // namespace
}  // namespace slime

const ForeignTrainer& slime_trainer() {
  static const ForeignTrainer trainer{"slime", "train", slime::kRows, slime::combine_slime};
  return trainer;
}

}  // namespace roll
