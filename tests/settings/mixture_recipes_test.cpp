// Keys that ROLL's recipes for mixtures of experts have, and those of its fine-tuning (qwen3-30BA3B-rlvr_fsdp2,
// qwen3-30BA3B-sft_fsdp2, qwen3-30BA3B-dpo_megatron of its examples), mean what they mean there.
#include <catch2/catch.hpp>

#include <algorithm>

#include "checkpoint/temporary_folder.h"
#include "error_of.h"
#include "settings/load_config.h"
#include "settings/recipe.h"

namespace roll {

namespace {

using test::TemporaryFolder;
using testing::error_of;

const LoadOptions kOffline{.num_ranks = {}, .offline = true};

const std::string kSft = R"(
pretrain: Qwen/Qwen3-30B-A3B-Base
sequence_length: 2048
prompt_key: instruction
query_key: input
response_key: output
validation: {data_args: {file_name: ./data/code_alpaca_500.json, template: qwen2_5}}
sft_train:
  model_args: {dtype: bf16, ulysses_size: 2}
  training_args: {num_train_epochs: 1, per_device_train_batch_size: 1, gradient_accumulation_steps: 1, learning_rate: 5.0e-6}
  data_args: {file_name: ./data/code_alpaca_20k.json, template: qwen2_5, preprocessing_num_workers: 4}
  strategy_args:
    strategy_name: fsdp2_train
    strategy_config: {fsdp_size: 8, efsdp_size: 1, ep_size: 8, moe_use_grouped_mm: false, param_dtype: bf16, reduce_dtype: bf16,
                      offload_policy: false, reshard_after_forward: true, apply_expert_patch: true, wrap_policy: {wrap_embeddings: true}}
  device_mapping: list(range(0,8))
)";

const std::string kDpo = R"(
pretrain: Qwen/Qwen3-30B-A3B
max_steps: 500
sequence_length: 4096
chosen_key: chosen
rejected_key: rejected
is_offload_states: true
is_offload_optimizer_states_in_train_step: true
actor_train:
  training_args: {learning_rate: 1.0e-6, per_device_train_batch_size: 1, gradient_accumulation_steps: 16}
  data_args: {file_name: [data/pairs.json]}
  strategy_args: {strategy_name: megatron_train, strategy_config: {expert_model_parallel_size: 8, moe_token_dispatcher_type: alltoall}}
  device_mapping: list(range(0,16))
)";

auto sft(const std::vector<std::string>& overrides = {}) {
  const TemporaryFolder folder;
  return load_sft_config(folder.write("sft.yaml", kSft), overrides, kOffline);
}

bool has_note(const std::vector<std::string>& notes, const std::string& part) {
  return std::ranges::any_of(notes, [&](const std::string& note) { return mentions(note, part); });
}

}  // namespace

TEST_CASE("ROLL's fine-tuning of a mixture under fsdp2 is valid, and its words arrive", "[settings]") {
  const RowConfig config = sft().config;
  const StrategyConfig& strategy = config.trained.strategy_args.strategy_config;
  CHECK(strategy.expert_parallel() == 8);
  CHECK(strategy.context_parallel() == 2);
  CHECK(config.trained.data_args.question == "instruction");
  CHECK(config.trained.data_args.query == "input");
  CHECK(config.trained.data_args.response == "output");
  CHECK(config.validation.data_args.query == "input");
}

TEST_CASE("two spellings of a fine-tuning's keys must agree", "[settings]") {
  const auto error = [](const std::string& override) { return error_of([&] { sft({override}); }); };
  CHECK(mentions(error("sft_train.strategy_args.strategy_config.expert_model_parallel_size=4"),
                 "ep_size = 8: is another spelling of"));
  CHECK(mentions(error("sft_train.data_args.question=q"), "prompt_key = instruction: is another spelling of"));
  CHECK(mentions(error("~prompt_key"),
                 "query_key = input: follows a question: name the question's column in prompt_key"));
  CHECK(mentions(error("sft_train.strategy_args.strategy_config.ep_size=3"), "must divide the 8 data x context ranks"));
}

TEST_CASE("ROLL's pairs for a mixture are valid", "[settings]") {
  const TemporaryFolder folder;
  const DpoConfig config = load_dpo_config(folder.write("dpo.yaml", kDpo), {}, kOffline).config;
  CHECK(config.trained.strategy_args.strategy_config.expert_parallel() == 8);
}

TEST_CASE("deepspeed's stages are what they say, and what is not built is refused", "[settings]") {
  const auto role = [](const std::string& strategy) {
    return std::vector<std::string>{"actor_train.strategy_args={strategy_name: deepspeed_train, strategy_config: {" +
                                    strategy + "}}"};
  };
  const auto read = [&](const std::string& strategy) { return load_config(kRecipe, role(strategy), kOffline); };
  for (const int64_t stage : {0, 1, 2, 3}) {
    CAPTURE(stage);
    const WorkerConfig worker = read(fmt::format("zero_optimization: {{stage: {}}}", stage)).config.actor_train;
    CHECK(worker.strategy_args.strategy_config.use_distributed_optimizer == (stage > 0));
    CHECK(worker.gathers_layers() == (stage == 3));
  }
  // As ROLL's deepspeed_zero3_cpuoffload.yaml has it.
  const auto written = read(
      "train_batch_size: auto, zero_allow_untested_optimizer: true, bf16: {enabled: auto}, zero_optimization: {stage: "
      "3, "
      "offload_optimizer: {device: cpu, pin_memory: true}, overlap_comm: false, sub_group_size: 1.0e9, "
      "reduce_bucket_size: auto, stage3_prefetch_bucket_size: auto, stage3_gather_16bit_weights_on_model_save: true}");
  CHECK(written.config.actor_train.gathers_layers());
  CHECK(has_note(written.notes, "the key offload controls the use of host memory"));
  const auto error = [&](const std::string& strategy) { return error_of([&] { read(strategy); }); };
  CHECK(mentions(error("zero_optimization: {stage: 4}"), "zero_optimization.stage = 4: must be in 0..3, or null"));
  CHECK(mentions(error("zero_optimization: {stage: 3, zero_quantized_gradients: true}"),
                 "roll does not quantise what ranks send to each other; remove it"));
  CHECK(mentions(error("zero_optimization: {stage: 2}, reshard_after_forward: true"),
                 "zero_optimization.stage = 2: contradicts actor_train.strategy_args.strategy_config."
                 "reshard_after_forward = true; keep one of the two"));
  CHECK(mentions(error("zero_optimization: {stage: 1}, use_distributed_optimizer: false"),
                 "contradicts actor_train.strategy_args.strategy_config.use_distributed_optimizer = false"));
  CHECK(error("zero_optimization: {stage: 3}, reshard_after_forward: true, use_distributed_optimizer: true") ==
        "no error");
}

TEST_CASE("layers that cannot be gathered stay whole, which is noted", "[settings]") {
  const auto whole = [](const std::vector<std::string>& overrides, const std::string& noted) {
    std::vector<std::string> all = {"actor_train.strategy_args={strategy_name: fsdp2_train, strategy_config: {}}"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    const auto read = load_config(kRecipe, all, kOffline);
    return !read.config.actor_train.gathers_layers() && has_note(read.notes, noted + ": every rank keeps whole layers");
  };
  const std::string strategy = "actor_train.strategy_args.strategy_config.";
  CHECK_FALSE(whole({}, ""));
  CHECK(whole({strategy + "pipeline_model_parallel_size=2"}, "strategy_name = fsdp2_train"));
  CHECK(whole({strategy + "expert_model_parallel_size=2", strategy + "reshard_after_forward=true"},
              "reshard_after_forward = true"));
  CHECK(whole({strategy + "use_distributed_optimizer=false"}, "strategy_name = fsdp2_train"));
  CHECK(whole({"actor_train.model_args.lora_rank=8", "actor_train.model_args.lora_target=all-linear",
               strategy + "zero_optimization={stage: 3}"},
              "zero_optimization.stage = 3"));
}

TEST_CASE("what a recipe says too little or twice is noted", "[settings]") {
  const auto read = [](const std::vector<std::string>& overrides) { return load_config(kRecipe, overrides, kOffline); };
  const auto shares = read({"actor_train.data_args.domain_interleave_probs={math_rule: 0.9}"});
  CHECK(shares.config.actor_train.data_args.domain_interleave_probs.at("math_rule") == Approx(1));
  CHECK(has_note(shares.notes, "the shares sum to 0.9, and each is divided by this sum"));
  CHECK(has_note(read({"actor_infer.strategy_args.strategy_name=vllm", "actor_infer.num_gpus_per_worker=2"}).notes,
                 "num_gpus_per_worker = 2: has no effect with vllm; tensor_parallel_size is 1"));
  const Config engine =
      read({"actor_infer.strategy_args.strategy_name=sglang", "actor_infer.num_gpus_per_worker=2"}).config;
  CHECK(engine.actor_infer.strategy_args.strategy_config.tensor_parallel() == 2);
  const auto packed = read({"reference.strategy_args.strategy_name=fsdp2_infer", "reference.use_sequence_packing=true",
                            "reference.sequence_packing_args=null"});
  CHECK_FALSE(packed.config.reference.packing.budget(/*trains=*/false));
  CHECK(has_note(
      packed.notes,
      "reference.use_sequence_packing = true: reference.sequence_packing_args.max_packed_sequence_length_forward is "
      "not set, so micro-batches have as many sequences"));
  const auto sampler = read({"actor_infer.strategy_args.strategy_config.ep_size=2"});
  CHECK(has_note(sampler.notes, "here tensor ranks split every expert"));
  CHECK(sampler.config.actor_infer.strategy_args.strategy_config.expert_parallel() == 1);
}

}  // namespace roll
