#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "settings/load_config.h"
#include "settings/recipe.h"
#include "settings/sampling_plan.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

/// A folder that is gone after the test.
struct Folder {
  fs::path path = fs::temp_directory_path() / fmt::format("roll_test_config_test_{}", static_cast<const void*>(this));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  fs::path write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
    return path / name;
  }
};

CheckedConfig<Config> recipe(const std::vector<std::string>& overrides = {}) {
  return load_config(kRecipe, overrides, {.num_ranks = {}, .offline = true});
}

std::string error_of(const std::vector<std::string>& overrides) {
  try {
    recipe(overrides);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

const char* kTinyModel = R"({"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 64,
  "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
  "vocab_size": 512, "max_position_embeddings": 512, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
  "tie_word_embeddings": true, "hidden_act": "silu"})";

}  // namespace

TEST_CASE("a recipe in ROLL's style is valid as it is written", "[train]") {
  const auto checked = recipe();
  const Config& c = checked.config;
  CHECK(checked.num_ranks == 8);
  CHECK(c.exp_name == "qwen2.5-7B-rlvr-gae");
  CHECK(c.actor_train.training_args.learning_rate == 1e-6);
  CHECK(c.critic.training_args.weight_decay == 0.01);
  CHECK(c.loss.use_pg_clip_range);
  CHECK(c.actor_infer.generating_args.max_new_tokens == 4096);
  CHECK(c.actor_infer.generating_args.num_return_sequences == 8);
  CHECK(c.actor_infer.model_args.disable_gradient_checkpointing);
  CHECK(c.actor_infer.model_args.dtype == Dtype::kBf16);  // through the merge key
  CHECK(c.reference.device_mapping->devices.size() == 8);
  CHECK(enum_name(c.rewards.at("math_rule").reward.type.value()) == "math_rule");
  CHECK(c.uses_critic());
  CHECK(c.uses_reference());
}

TEST_CASE("what follows from other keys is filled in", "[train]") {
  const Config c = recipe().config;
  CHECK(c.sequence_length == 2048 + 4096);
  CHECK(c.val_prompt_length == 2048);
  CHECK(c.val_sequence_length == 6144);
  CHECK(c.critic.model_args.model_name_or_path == "Qwen/Qwen2.5-7B");
  CHECK(c.reference.model_args.model_name_or_path == "Qwen/Qwen2.5-7B");
  CHECK(c.validation.data_args.messages == "messages");
  CHECK(c.actor_train.data_args.template_name == "qwen2_5");
  CHECK(recipe({"response_length=null", "sequence_length=5000", "actor_infer.generating_args.max_new_tokens=null",
                "validation.generating_args.max_new_tokens=null"})
            .config.response_length == 2952);
  CHECK(recipe({"calculate_per_token_loss=true", "~loss_agg_mode"}).config.loss.loss_agg_mode == AggMode::kTokenMean);
  CHECK(recipe({"loss_aggregation=prompt_mean", "~loss_agg_mode"}).config.loss.loss_agg_mode == AggMode::kPromptMean);
  const Config mock = recipe({"rollout_mock={enable: true, mode: dump, dump_dir: there}"}).config;
  CHECK(mock.rollout_dump_dir == "there");
}

TEST_CASE("what an estimator or a mode decides stands in the resolved configuration", "[train]") {
  const ExperienceConfig grpo =
      recipe({"adv_estimator=grpo", "~norm_mean_type", "norm_std_type=null"}).config.experience;
  CHECK(grpo.norm_mean_type == NormType::kGroup);
  CHECK(grpo.norm_std_type == NormType::kGroup);
  CHECK_FALSE(recipe({"~norm_mean_type", "~norm_std_type"}).config.experience.norm_mean_type);
  const LossConfig norm = recipe({"loss_agg_mode=seq-mean-token-sum-norm"}).config.loss;
  CHECK(norm.loss_aggregation_divisor == 6143);  // sequence_length - 1
  CHECK(recipe({"loss_agg_mode=seq-mean-token-sum-norm", "loss_aggregation_divisor=9"})
            .config.loss.loss_aggregation_divisor == 9);
  CHECK_FALSE(recipe().config.loss.loss_aggregation_divisor);
  CHECK(
      mentions(recipe({"loss_agg_mode=seq-mean-token-sum-norm"}).loss, "sums over final_response_mask tokens by 6143"));
  CHECK(error_of({"norm_mean_type=group", "norm_std_type=batch"}).empty());
  CHECK(error_of({"norm_mean_type=null", "norm_std_type=running"}).empty());
}

TEST_CASE("the resolved YAML loads again to the same configuration", "[train]") {
  const Folder folder;
  for (const std::vector<std::string>& overrides : {std::vector<std::string>{},
                                                    {"loss_aggregation=token_mean", "~loss_agg_mode"},
                                                    {"loss_agg_mode=constant", "loss_aggregation_divisor=4096"},
                                                    {"adv_estimator=grpo", "~norm_mean_type", "~norm_std_type"},
                                                    {"loss_agg_mode=seq-mean-token-sum-norm"},
                                                    {"exp_name=\"${seed}: 'x'\"", "track_with=wandb"}}) {
    const std::string first = resolved_yaml(recipe(overrides).config);
    const auto file = folder.write("resolved.yaml", first);
    CHECK(resolved_yaml(load_config(file, {}, {.num_ranks = {}, .offline = true}).config) == first);
    CHECK(mentions(first, "learning_rate: 1e-06\n"));
  }
}

TEST_CASE("the batch arithmetic is told in words", "[train]") {
  const std::string plan = recipe().plan;
  CHECK(mentions(plan, "128 prompts x 8 responses = 1024 sequences a step; 8 data-parallel ranks; 500 steps"));
  CHECK(mentions(plan, "actor_train: 2 updates of 512 sequences a step, at most 64 micro-batches of 8192 tokens"));
  CHECK(mentions(plan, "critic: 2 updates of 512 sequences a step, 32 micro-batches of 2 sequences each per rank"));
  CHECK(mentions(recipe({"ppo_epochs=3"}).plan, "actor_train: 6 updates"));
}

TEST_CASE("every note is given once and names the keys that mean nothing", "[train]") {
  const auto notes = recipe().notes;
  const auto count = [&](const std::string& part) {
    return std::count_if(notes.begin(), notes.end(), [&](const std::string& note) { return mentions(note, part); });
  };
  CHECK(count("these keys have no effect here") == 1);
  CHECK(count("reward_norm") == 1);
  CHECK(count("all strategies use the built-in back-end") == 1);
  CHECK(count("deepspeed_zero3") == 1);
}

TEST_CASE("a key that a role does not read is refused on the command line", "[train]") {
  const auto told = [](const std::string& override, const std::string& part) {
    const std::string said = error_of({override});
    return mentions(said, "has no effect: ") && mentions(said, part);
  };
  CHECK(told("critic.pg_variant=topr", "critic.pg_variant = topr: has no effect: only actor_train has a policy loss"));
  CHECK(told("reference.training_args={learning_rate: 1}", "this role is not trained"));
  CHECK(told("actor_infer.backend_timeout=3", "the backend_timeout of the trained policy"));
  CHECK(told("validation.strategy_args={strategy_name: vllm}", "this role has no model"));
  CHECK(told("actor_train.generating_args={temperature: 2}", "only actor_infer and validation sample"));
  CHECK(told("num_gpus_per_node=4", "device_mapping, -n and the hostfile"));
  CHECK(error_of({"num_gpus_per_node=4", "max_steps=${num_gpus_per_node}"}).empty());  // which another key reads
}

TEST_CASE("a key that is typed and has no effect is an error", "[train]") {
  for (const char* typed : {"kl_horizon=5", "actor_train.model_args.lora_alpha=8"})
    CHECK(mentions(error_of({typed}), "leave it out"));
}

TEST_CASE("a key that another one makes idle is noted, or refused where it is typed, unless it has its default",
          "[train]") {
  const auto note = [](const std::vector<std::string>& overrides, const std::string& key) {
    std::vector<std::string> texts{error_of(overrides)};
    if (texts[0].empty()) texts = recipe(overrides).notes;
    for (const std::string& text : texts)
      if (mentions(text, key) && mentions(text, "has no effect, because of")) return text;
    return std::string();
  };
  CHECK(mentions(note({"use_pg_clip_range=false", "pg_clip_low=0.1"}, "pg_clip_low = 0.1"), "use_pg_clip_range"));
  CHECK(note({"use_pg_clip_range=false", "pg_clip_low=0.2"}, "pg_clip_low").empty());
  CHECK(note({"use_pg_clip_range=true", "pg_clip_low=0.1"}, "pg_clip_low").empty());
  CHECK(mentions(note({"dual_clip_loss=false", "dual_clip_c=3"}, "dual_clip_c"), "dual_clip_loss"));
  CHECK(mentions(note({"adv_estimator=reinforce", "lambd=0.5"}, "lambd = 0.5"), "adv_estimator = reinforce"));
  CHECK(mentions(note({"adv_estimator=reinforce"}, "critic has no effect"), "adv_estimator = reinforce"));
  CHECK(mentions(note({"kl_horizon=5"}, "kl_horizon"), "target_kl = null"));
  CHECK(mentions(note({"target_kl=0.1"}, "target_kl"), "add_token_level_kl = false"));
  CHECK(mentions(note({"error_max_len_threshold=5"}, "error_max_len_threshold"), "error_max_len_clip"));
  CHECK(mentions(note({"rollout_mock={dump_dir: x}"}, "rollout_mock.dump_dir"), "rollout_mock.enable"));
  CHECK(mentions(
      note({"actor_train.training_args.warmup_steps=5", "actor_train.training_args.warmup_ratio=0.1"}, "warmup_ratio"),
      "warmup_steps = 5"));
}

TEST_CASE("do_sample: false is a greedy validation", "[train]") {
  const auto loaded =
      recipe({"validation.generating_args.do_sample=false", "validation.generating_args.temperature=0.6"});
  CHECK(sampling_settings(loaded.config.validation.generating_args).temperature == 0);
}

TEST_CASE("older names and the template's switch are taken", "[train]") {
  CHECK(recipe({"use_additional_prompts=true"}).config.additional_prompts() > 0);
  CHECK(recipe({"use_additional_prompts=false"}).config.additional_prompts() == 0);
  CHECK(mentions(error_of({"use_additional_prompts=true", "is_use_additional_prompts=false"}), "keep one of the two"));
  const Config thinking = recipe({"actor_train.data_args.enable_thinking=false"}).config;
  CHECK(thinking.actor_train.data_args.enable_thinking == false);
  CHECK(thinking.validation.data_args.enable_thinking == false);
  CHECK(recipe({"validation.data_args.enable_thinking=true"}).config.validation.data_args.enable_thinking == true);
}

TEST_CASE("rules between keys name both and the nearest working values", "[train]") {
  CHECK(mentions(error_of({"rollout_batch_size=100"}), "try 64 or 128"));
  CHECK(mentions(error_of({"actor_train.sequence_packing_args.max_packed_sequence_length_train=6143"}),
                 "cannot hold one sequence of 6144 tokens"));
  CHECK(error_of({"actor_train.sequence_packing_args.max_packed_sequence_length_train=6144"}).empty());
  CHECK(mentions(error_of({"kl_loss_coef=0"}), "kl_loss_coef = 0"));
  CHECK(mentions(error_of({"~critic"}), "needs a critic"));
  CHECK(error_of({"~critic", "adv_estimator=reinforce"}).empty());
  CHECK(mentions(error_of({"critic_warmup=3", "adv_estimator=reinforce"}), "no critic to warm up"));
  CHECK(mentions(error_of({"loss_agg_mode=prompt-mean", "actor_train.training_args.per_device_train_batch_size=1",
                           "actor_train.training_args.gradient_accumulation_steps=1",
                           "num_return_sequences_in_group=16", "actor_infer.generating_args.num_return_sequences=16"}),
                 "keeps the 16 responses of a prompt in one update"));
  CHECK(mentions(error_of({"actor_infer.generating_args.num_return_sequences=4"}), "must equal"));
  CHECK(mentions(error_of({"actor_infer.generating_args.max_new_tokens=5000"}), "response_length = 4096"));
  CHECK(mentions(error_of({"reward_pretrain=other/model", "actor_infer.model_args.model_name_or_path=x"}),
                 "the model of the trainer"));
}

TEST_CASE("every rule is there: one setting that breaks it each", "[train]") {
  const std::string train = "actor_train.training_args.", generate = "actor_infer.generating_args.";
  const std::string dynamic = "use_dynamic_batching_in_train=true";
  struct Rule {
    std::vector<std::string> overrides;
    std::string message;
  };
  const std::vector<Rule> rules = {
      {{"critic.training_args.per_device_train_batch_size=3"}, "must be a multiple of the mini-batch"},
      {{"critic.use_dynamic_batching_in_train=true", "critic.max_tokens_per_microbatch_in_train=10"},
       "cannot hold one"},
      {{"reference.use_dynamic_batching_in_infer=true", "reference.max_tokens_per_microbatch_in_infer=10"},
       "cannot hold one"},
      {{"actor_train." + dynamic}, "other spelling of a token budget"},
      {{"critic.strategy_args.strategy_name=deepspeed_train", "critic.use_sequence_packing=true",
        "critic.sequence_packing_args.algorithm=load_balance"},
       "needs a number of tokens per micro-batch"},
      {{"loss_aggregation=prompt_mean", "~loss_agg_mode", train + "per_device_train_batch_size=1",
        train + "gradient_accumulation_steps=1", "num_return_sequences_in_group=16",
        generate + "num_return_sequences=16"},
       "keeps the 16 responses of a prompt in one update"},
      {{"num_return_sequences_in_group=1", generate + "num_return_sequences=1", "norm_std_type=group"},
       "a group of one has no deviation"},
      {{"num_return_sequences_in_group=1", generate + "num_return_sequences=1", "norm_mean_type=group"},
       "a group of one minus its mean"},
      {{"num_return_sequences_in_group=1", generate + "num_return_sequences=1", "adv_estimator=grpo"},
       "compares the responses of one prompt"},
      {{"num_return_sequences_in_group=1", generate + "num_return_sequences=1", "difficulty_mask=true"},
       "uses the mean score of a prompt's responses"},
      {{"adv_estimator=grpo", "norm_mean_type=group"}, "norm_std_type = batch: adv_estimator = grpo uses the group's"},
      {{"adv_estimator=grpo", "norm_std_type=group"}, "norm_mean_type = batch: adv_estimator = grpo uses the group's"},
      {{"norm_std_type=group"},
       "norm_std_type = group: divides the difference from the group's mean, but norm_mean_type = batch"},
      {{"norm_std_type=group", "norm_mean_type=null"}, "but norm_mean_type = null"},
      {{"difficulty_mask=true", "difficulty_low_threshold=0.9", "difficulty_high_threshold=0.9"}, "must be below"},
      {{"error_max_len_clip=true", "error_max_len_threshold=null"}, "needs error_max_len_threshold"},
      {{"bootstrap_truncated=true", "adv_estimator=reinforce"}, "uses the critic's value"},
      {{"actor_infer.num_gpus_per_worker=2", "actor_infer.strategy_args.strategy_name=sglang",
        "actor_infer.strategy_args.strategy_config.tensor_parallel_size=1"},
       "tensor_parallel_size, which is 1"},
      {{"async_generation_ratio=1"}, "needs devices that only sample"},
      {{"async_generation_ratio=65"}, "must be in 0..64"},
      {{"actor_train.strategy_args.strategy_name=megatron_infer"}, "needs a *_train strategy"},
      {{"critic.strategy_args.strategy_name=megatron_infer"}, "needs a *_train strategy"},
      {{"loss_aggregation=token_mean", "loss_agg_mode=prompt-mean"}, "keep one of the two"},
      {{"loss_agg_mode=constant", "loss_aggregation_divisor=0"}, "must be above 0"},
      {{"loss_agg_mode=constant"}, "needs a divisor"},
      {{"loss_agg_mode=token-mean", "loss_aggregation_divisor=3"}, "have a divisor, but loss_agg_mode = token-mean"},
      {{"loss_mask_keys=[response_mask]"}, "leaves out final_response_mask, whose tokens the loss counts; add it"},
      {{"loss_mask_keys=[final_response_mask]"}, "leaves out response_mask, whose"},
      {{"difficulty_range=[9, 3]"}, "the smaller one first"},
      {{"difficulty_range=[3]"}, "the smaller one first"},
      {{"kl_penalty=full"}, "probabilities of the whole vocabulary"},
      {{"loss_agg_mode=prompt-mean", "calculate_per_token_loss=true"}, "means token-mean, but"},
      {{"loss_mask_keys=[]"}, "leaves out final_response_mask and response_mask"},
      {{"loss_mask_keys=[response_maks]"}, "there is no mask response_maks"},
      {{train + "adam_beta2=1"}, "below 1"},
      {{train + "learning_rate=-1e-6"}, "learning_rate"},
      {{train + "warmup_ratio=1.5"}, "warmup_ratio"},
      {{generate + "top_p=0"}, "must be above 0 and at most 1"},
      {{generate + "num_beams=2"}, "beam search"},
      {{generate + "top_k=1"}, "top_k = 1: must not be 1: a greedy policy"},
      {{generate + "do_sample=false"}, "do_sample = false: must be true: a greedy policy"},
      {{generate + "temperature=1e-5"}, "must be 0 or in 0.001..1000"},
      {{"rewards.math_rule.world_size=5000"}, "world_size = 5000: must be in 1..1024"},
      {{train + "learning_rate=.inf"}, "must be a finite number in 0..0.1"},
      {{"critic.loss_func={library: x.so, name: y}", "reference.loss_func={library: x.so, name: y}"},
       "reference.loss_func"},
      {{"critic.pg_loss_reducer={library: x.so, name: y}"}, "which only actor_train has"},
      {{"validation.generating_args.temperature=-1"}, "temperature"},
      {{"rewards.other={type: math_rule, tag_included: [gsm8k]}"}, "the tag gsm8k already belongs to"},
      {{generate + "stop_strings=['']"}, "an empty stop string"},
      {{"gamma=1.1"}, "gamma"},
      {{"lambd=-0.1"}, "lambd"},
      {{"ppo_epochs=0"}, "ppo_epochs"},
      {{"dual_clip_c=1"}, "must be above 1"},
      {{"actor_train.data_args.domain_interleave_probs={math_rule: 1.5}"}, "must be in 0..1"},
      {{"actor_train.data_args.domain_interleave_probs={math_rule: 0.5, other: 0.6}"}, "must sum to 1"},
      {{"actor_train.data_args.domain_interleave_probs={math_rul: 1}"}, "has no reward"},
  };
  for (const Rule& rule : rules) {
    const std::string message = error_of(rule.overrides);
    CAPTURE(rule.overrides, message);
    CHECK(mentions(message, rule.message));
  }
}

TEST_CASE("tensor and context ranks must divide the ranks of the run, for every role", "[train]") {
  for (const char* role : {"actor_train", "actor_infer", "reference", "critic"}) {
    CAPTURE(role);
    const std::string place = fmt::format("{}.strategy_args.strategy_config", role);
    const auto error = [&](const std::string& sizes) { return error_of({fmt::format("{}={{{}}}", place, sizes)}); };
    CHECK(mentions(error("tensor_parallel_size: 3"),
                   place + ".tensor_parallel_size = 3: 3 tensor x 1 context ranks share a model, so the 8 ranks of the "
                           "role must be a multiple of 3; change the sizes, device_mapping or -n"));
    if (std::string_view(role) == "critic" || std::string_view(role) == "reference")
      CHECK(mentions(error_of({fmt::format("{}.model_args={{ulysses_size: 16}}", role)}),
                     "1 tensor x 16 context ranks share a model"));
    CHECK(mentions(error("ulysses_size: 16"), "1 tensor x 16 context ranks share a model"));
    CHECK(mentions(error("tensor_parallel_size: 4, context_parallel_size: 4"),
                   "4 tensor x 4 context ranks share a model, so the 8 ranks of the role must be a multiple of 16"));
    CHECK(mentions(error("tensor_parallel_size: 0"), "tensor_parallel_size = 0: must be in 1..65536, or null"));
    CHECK(mentions(error("tensor_model_parallel_size: 2, tensor_parallel_size: 4"),
                   place + ".tensor_parallel_size = 4: is another spelling of " + place +
                       ".tensor_model_parallel_size = 2; keep one of the two"));
    CHECK(mentions(error("context_parallel_size: 2, ulysses_size: 4"), "ulysses_size = 4: is another spelling of"));
  }
}

TEST_CASE("tensor ranks must fit the model's heads; each error is said once", "[train]") {
  const Folder folder;
  folder.write("model/config.json", kTinyModel);  // 4 heads over 2 key/value heads
  const auto error = [&](const char* role, const std::string& sizes) {
    try {
      load_config(kRecipe,
                  {"pretrain=" + (folder.path / "model").string(),
                   fmt::format("{}.strategy_args.strategy_config={{{}}}", role, sizes)},
                  {.num_ranks = {}, .offline = false});
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  for (const char* role : {"actor_train", "actor_infer", "reference", "critic"}) {
    CAPTURE(role);
    CHECK_THAT(error(role, "tensor_parallel_size: 8"),
               Catch::Contains("tensor_parallel_size = 8: must divide the model's 4 attention heads"));
    const std::string twice = error(role, "tensor_model_parallel_size: 2, tensor_parallel_size: 4");
    CHECK(mentions(twice, "is another spelling of"));
    CHECK(twice.find("is another spelling of") == twice.rfind("is another spelling of"));
  }
}

TEST_CASE("the devices of a role are as many as the ranks", "[train]") {
  CHECK_THROWS_WITH(load_config(kRecipe, {}, {.num_ranks = 4, .offline = true}),
                    Catch::Contains("name 8 devices, but -n asks for 4; make"));
}

TEST_CASE("with the model at hand, memory is estimated, through the Hub cache too", "[train]") {
  const Folder folder;
  folder.write("hf/hub/models--Qwen--Qwen2.5-7B/snapshots/abc123/config.json", kTinyModel);
  folder.write("hf/hub/models--Qwen--Qwen2.5-7B/refs/main", "abc123\n");
  set_env("HF_HOME", (folder.path / "hf").string());
  const std::string memory = recipe({"prompt_length=100", "response_length=100"}).memory;
  CHECK(mentions(memory, "memory of a rank (GPU), about: weights 0.00"));
  CHECK(mentions(memory, "KV cache"));
  // 1024 / 8 ranks = 128 sequences x 200 tokens x 2 layers x (k, v) x 2 heads x 16 x 2 bytes
  CHECK(mentions(memory, fmt::format("KV cache of at most {:.3f}", 128 * 200 * 2 * 2 * 2 * 16 * 2 / 1e9)));
  set_env("HF_HOME", folder.path.string());
  CHECK(mentions(recipe().memory, "its shape is inferred from its name"));
  CHECK(mentions(recipe({"pretrain=Some/Body"}).memory, "unknown"));
}

TEST_CASE("sft has its own root with the same structs", "[train]") {
  const Folder folder;
  folder.write("rows.jsonl", "{\"question\": \"1+1\", \"answer\": \"2\"}\n");
  const auto file =
      folder.write("sft.yaml", "pretrain: " + folder.path.string() +
                                   "/model\nsequence_length: 64\nmax_steps: 10\nsft_train:\n  training_args: "
                                   "{per_device_train_batch_size: 4, gradient_accumulation_steps: 2, num_train_epochs: "
                                   "3}\n  data_args: {file_name: " +
                                   folder.path.string() + "/rows.jsonl, prompt: question, response: answer}\n");
  folder.write("model/config.json", kTinyModel);
  CHECK(find_command(file) == "sft");
  CHECK(find_command(kRecipe) == "train");
  const auto checked = load_sft_config(file, {}, {.num_ranks = 2, .offline = true});
  CHECK(checked.config.num_train_epochs == 3);
  CHECK(checked.config.loss.loss_mask_keys == std::vector<std::string>{"labels_mask"});
  CHECK(checked.config.loss.loss_agg_mode == AggMode::kTokenMean);
  CHECK(mentions(checked.plan, "10 updates; 16 sequences an update; 2 data-parallel ranks; 2 micro-batches of 4"));
  const auto again = folder.write("again.yaml", resolved_yaml(checked.config));
  CHECK(resolved_yaml(load_sft_config(again, {}, {.num_ranks = 2, .offline = true}).config) ==
        resolved_yaml(checked.config));
  CHECK_THROWS_WITH(load_sft_config(file, {"sft_train.data_args.response=null"}, {}),
                    Catch::Contains("the column with the text to learn"));
  CHECK_THROWS_WITH(load_sft_config(file, {"adv_estimator=gae"}, {}), Catch::Contains("unknown key"));
  const auto mode_of = [&](const std::string& key) {
    return load_sft_config(file, {key}, {.num_ranks = 2, .offline = true}).config.loss.loss_agg_mode;
  };
  CHECK(mode_of("loss_aggregation=sample_mean") == AggMode::kSeqMeanTokenMean);
  CHECK(mode_of("calculate_per_token_loss=true") == AggMode::kTokenMean);
  CHECK_THROWS_WITH(mode_of("loss_mask_keys=[response_mask]"), Catch::Contains("there is no mask response_mask"));
}

}  // namespace roll
