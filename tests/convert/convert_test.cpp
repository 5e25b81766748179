#include "convert/convert.h"

#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <sstream>

#include "base/error.h"
#include "config/yaml.h"

namespace roll {
namespace {

using Catch::Matchers::Contains;

Converted converted(const std::string& script) {
  return convert_config(choose_launch(read_script("python3 " + script, "s", {}), "s", {}).keys, "auto", 1);
}

/// The value of the top-level `key` of what is written.
std::string value_in(const Converted& converted, const std::string& key) {
  const Node tree = parse_yaml(converted.yaml, "converted");
  const Node* value = tree.find(key);
  return value ? value->text : "none";
}

}  // namespace

TEST_CASE("a value that YAML would read otherwise is quoted", "[convert]") {
  for (const char* path :
       {"a: b", "[a", "x # y", "'a", "*a", "a\nmax_steps: 1", "[a,\nb]", "${HOME}/m", "${oc.env:HOME}/m"}) {
    INFO(path);
    const ForeignKey key{"actor_rollout_ref.model.path", path, "y:1", ""};
    CHECK(value_in(convert_config({key}, "verl", 8), "pretrain") == path);
  }
}

TEST_CASE("what has no counterpart stays on its line of the comment", "[convert]") {
  const Converted out = converted("run.py actor_rollout_ref.model.path=m trainer.nobody_knows='a\nb\tc\nmax_steps: 3'");
  REQUIRE(out.without.size() == 1);
  CHECK_THAT(out.without[0], Contains("trainer.nobody_knows"));
  CHECK(out.without[0].find('\n') == std::string::npos);
  CHECK(value_in(out, "max_steps") == "none");
}

TEST_CASE("no keys, and none that any trainer has, are refused", "[convert]") {
  for (const char* trainer : {"auto", "verl"})
    CHECK_THROWS_WITH(convert_config({}, trainer, 1), Contains("no keys: give a YAML file"));
  CHECK_THROWS_WITH(convert_config({{"a.b", "1", "s:1", ""}}, "auto", 1),
                    Contains("s:1: a.b: not a key of verl, trl, slime, openrlhf"));
  CHECK_THROWS_WITH(converted("run.py a.b=1"), Contains("s: no command in it starts a known trainer"));
}

TEST_CASE("a count that is none is named with its place", "[convert]") {
  const std::string verl = "run.py actor_rollout_ref.model.path=m trainer.nnodes=";
  for (const char* count : {"0", "-1", "1.5", "1e300", "2000000"}) {
    INFO(count);
    CHECK_THROWS_WITH(converted(verl + count),
                      Contains("s:1: trainer.nnodes = " + std::string(count) + ": must be a whole number from 1 to"));
  }
  CHECK_THROWS_WITH(converted(verl + "$N"),
                    Contains("s:1: trainer.nnodes = ${oc.env:N}: must be a number; give N=VALUE"));
  CHECK_THROWS_WITH(
      converted(verl + "$(nproc)"),
      Contains("s:1: trainer.nnodes depends on $(nproc) (s:1), which is known only when the script runs"));
}

TEST_CASE("a passing of TRL's samples makes at least one update, and a step of slime's too", "[convert]") {
  const Converted trl = converted(
      "run.py --num_generations 8 --per_device_train_batch_size 8 --steps_per_generation null --num_iterations 2 "
      "--gradient_accumulation_steps 1 --max_steps 5 --beta 0.1 --loss_type grpo");
  CHECK(value_in(trl, "max_steps") == "3");
  const Converted slime = converted(
      "run.py --hf-checkpoint m --rollout-batch-size 2 --n-samples-per-prompt 2 --num-steps-per-rollout 9 "
      "--num-rollout "
      "3");
  CHECK_THAT(slime.yaml, Contains("per_device_train_batch_size: 1 "));
}

TEST_CASE("what data ranks share is deepspeed's stage, of all that is trained", "[convert]") {
  struct Case {
    const char *trainer, *key, *model, *value;
    size_t times;
  };
  const auto [trainer, key, model, value, times] = GENERATE(
      Case{"openrlhf", "zero_stage", "pretrain", "3", 2}, Case{"openrlhf", "ds.zero_stage", "pretrain", "0", 2},
      Case{"trl", "deepspeed_config.zero_stage", "model_name_or_path", "2", 1},
      Case{"trl", "zero_optimization.stage", "model_name_or_path", "3", 1});
  const auto convert = [&, trainer = trainer, key = key, model = model](const std::string& stage) {
    return convert_config({{model, "m", "y:1", ""}, {key, stage, "y:2", ""}}, trainer, 8);
  };
  const std::string yaml = convert(value).yaml,
                    written = fmt::format("      zero_optimization:\n        stage: {} ", value);
  CAPTURE(yaml);
  size_t found = 0;
  for (size_t at = yaml.find(written); at != std::string::npos; at = yaml.find(written, at + 1)) ++found;
  CHECK(found == times);
  CHECK_THROWS_WITH(convert("4"), Contains(fmt::format("y:2: {} = 4: must be 0, 1, 2 or 3", key)));
}

TEST_CASE("the estimate of the KL in the loss, and the range of a policy loss, are taken over", "[convert]") {
  const auto verl = [](const std::string& keys) {
    const std::string actor = "actor_rollout_ref.actor.";
    std::string script = "run.py actor_rollout_ref.model.path=m";
    std::istringstream words(keys);
    for (std::string word; words >> word;) script += " " + actor + word;
    return converted(script);
  };
  const std::string kl = "use_kl_loss=True kl_loss_type=";
  CHECK(value_in(verl(kl + "k2"), "kl_loss_penalty") == "mse");
  CHECK(value_in(verl(kl + "kl"), "kl_loss_penalty") == "kl");
  CHECK(value_in(verl(kl + "low_var_kl"), "kl_loss_penalty") == "none");
  const std::string cispo = verl("policy_loss.loss_mode=cispo clip_ratio_low=10 clip_ratio_high=0.25").yaml;
  CHECK_THAT(cispo, Contains("cispo_epsilon_low: 1.0") && Contains("cispo_epsilon_high: 0.25"));
  CHECK_THAT(cispo, !Contains("use_pg_clip_range"));
  const std::string gmpo =
      verl("policy_loss.loss_mode=geo_mean loss_agg_mode=seq-mean-token-mean clip_ratio_low=0.4 clip_ratio_high=0.5")
          .yaml;
  CHECK_THAT(gmpo, Contains("pg_variant: gmpo") && Contains("gmpo_epsilon_low: 0.4"));
  CHECK_THAT(gmpo, Contains("gmpo_epsilon_high: 0.5"));
}

TEST_CASE("a training of another kind is refused by the key that makes it one", "[convert]") {
  const std::string verl = "-m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.";
  const std::pair<const char*, const char*> cases[] = {
      {"path=mistralai/Mixtral-8x7B-v0.1", "Mixtral-8x7B-v0.1: by its name an unsupported mixture of experts"},
      {"path=zai-org/GLM-5-MoE", "GLM-5-MoE: by its name an unsupported mixture of experts"},
      {"path=Qwen/Qwen2.5-VL-7B-Instruct", "by its name a model that reads images"},
      {"path=m data.image_key=images", "data.image_key = images: images"},
      {"path=m actor_rollout_ref.rollout.multi_turn.enable=True", "several turns"},
      {"path=m actor_rollout_ref.actor.policy_loss.loss_mode=clip_cov",
       "loss_mode = clip_cov: not a supported policy loss"},
      {"path=m algorithm.adv_estimator=tir_optimal_token_baseline",
       "tir_optimal_token_baseline: not a supported estimator"},
      {"path=m --config-name=other", "config-name = other: another configuration"},
      {"path=m algorithm.rollout_correction.bypass_mode=true", "bypass_mode = true"},
  };
  for (const auto& [key, why] : cases) {
    INFO(key);
    CHECK_THROWS_WITH(converted(verl + key), Contains("s:1: ") && Contains(why));
  }
  for (const char* model : {"Qwen/Qwen3-Next-80B-A3B", "Qwen/Qwen3.5-35B-A3B", "google/gemma-4-26B-A4B-it"})
    CHECK_NOTHROW(converted(verl + "path=" + model));
  CHECK_NOTHROW(
      converted(verl + "path=m actor_rollout_ref.model.lora_rank=0 actor_rollout_ref.rollout.multi_turn.enable=False"));
  for (const char* program : {"kto", "online_dpo", "cpo"})
    CHECK_THROWS_WITH(converted(std::string("trl/scripts/") + program + ".py --learning_rate 1"),
                      Contains("with a loss that is not supported; `roll dpo` has DPO, cDPO and IPO"));
  CHECK_THROWS_WITH(converted("trl/scripts/gkd.py --learning_rate 1"),
                    Contains("use roll train with is_pure_opd (on sampled responses)"));
  CHECK_THROWS_WITH(converted("trl/scripts/sft.py --learning_rate 1"), Contains("fine-tunes on responses"));
}

TEST_CASE("TRL's own rewards are terms with their weights, and may be normalised apart", "[convert]") {
  const std::string trl =
      "trl/scripts/grpo.py --model_name_or_path m --dataset_name d --num_processes 1 --reward_funcs ";
  const Converted two = converted(trl +
                                  "accuracy_reward think_format_reward --reward_weights 1.0 0.5 "
                                  "--multi_objective_aggregation normalize_then_sum --scale_rewards batch");
  CHECK_THAT(two.yaml, Contains("terms: [{type: math_rule, weight: 1.0}, {type: regex, pattern: "
                                "'^<think>(?!.*<think>).*</think>', weight: 0.5}]"));
  CHECK(value_in(two, "adv_estimator") == "gdpo");
  CHECK(value_in(two, "norm_std_type") == "none");
  CHECK_THAT(two.yaml, !Contains("NOT SUPPORTED"));
  CHECK(value_in(converted(trl + "accuracy_reward"), "adv_estimator") == "grpo");
  const Converted python = converted(trl + "accuracy_reward my_own");
  CHECK_THAT(python.yaml,
             Contains("NOT SUPPORTED: Python code cannot be converted; write rewards.<name>") && !Contains("terms:"));
  CHECK_THROWS_WITH(converted(trl + "accuracy_reward --reward_weights 1 2"),
                    Contains("must have one weight for each of reward_funcs"));
}

TEST_CASE("verl's optimal token baseline has a row of its own, and verl does not discount its returns", "[convert]") {
  const std::string verl =
      "-m verl.trainer.main_ppo algorithm.adv_estimator=optimal_token_baseline "
      "actor_rollout_ref.model.path=m actor_rollout_ref.actor.calculate_sum_pi_squared=True ";
  CHECK(value_in(converted(verl), "adv_estimator") == "optimal_token_baseline_verl");
  CHECK(value_in(converted(verl + "algorithm.gamma=0.9"), "gamma") == "1");
}

TEST_CASE("verl's correction between sampler and trainer is ours", "[convert]") {
  const std::string verl = "-m verl.trainer.main_ppo actor_rollout_ref.model.path=m algorithm.rollout_correction.";
  const std::string weights =
      converted(verl + "rollout_is=sequence algorithm.rollout_correction.rollout_is_threshold=3").yaml;
  CHECK_THAT(weights, Contains("weight_type: sequence") && Contains("upper_bound: 3 "));
  // There the bounds are of the sampler's over the trainer's probability, here of the inverse.
  const std::string filter =
      converted(verl + "rollout_rs=seq_mean_k1 algorithm.rollout_correction.rollout_rs_threshold=0.5_4").yaml;
  CHECK_THAT(filter, Contains("agg_type: geometric, ratio_low: 0.25, ratio_high: 2}"));
  CHECK_THROWS_WITH(converted(verl + "rollout_rs=token_k3"), Contains("rollout_rs = token_k3: not a supported filter"));
}

TEST_CASE("a packed micro-batch has the tokens of all ranks that share it, and holds the longest sequence",
          "[convert]") {
  const auto budgets = [](const std::string& script) {
    const std::string yaml = converted(script).yaml, key = "max_packed_sequence_length_";
    std::vector<std::string> found;
    for (const char* half : {"train: ", "forward: "}) {
      const size_t at = yaml.find(key + half) + (key + half).size();
      found.push_back(yaml.substr(at, yaml.find_first_of(" \n", at) - at));
    }
    return found;
  };
  using Budgets = std::vector<std::string>;
  const std::string verl =
      "-m verl.trainer.main_ppo actor_rollout_ref.model.path=m data.max_prompt_length=1000 "
      "data.max_response_length=2001 actor_rollout_ref.actor.use_dynamic_bsz=True trainer.n_gpus_per_node=8 "
      "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=";
  CHECK(budgets(verl + "4000") == Budgets{"4000", "4000"});
  CHECK(budgets(verl + "4000 actor_rollout_ref.ref.log_prob_max_token_len_per_gpu=8000") == Budgets{"4000", "8000"});
  CHECK(budgets(verl + "1600 actor_rollout_ref.actor.ulysses_sequence_parallel_size=4") == Budgets{"6400", "6400"});
  CHECK(budgets(verl + "500 actor_rollout_ref.actor.ulysses_sequence_parallel_size=4") == Budgets{"3008", "3008"});
  CHECK(budgets("train.py --hf-checkpoint m --actor-num-gpus-per-node 8 --num-rollout 3 --use-dynamic-batch-size "
                "--max-tokens-per-gpu 2048 --context-parallel-size 2 --log-probs-max-tokens-per-gpu 3000 "
                "--rollout-max-response-len 500") == Budgets{"4096", "6000"});
  CHECK(budgets("-m openrlhf.cli.train_ppo_ray --actor.model_name_or_path m --actor.num_gpus_per_node 8 "
                "--train.dynamic_batch_enable --train.max_tokens_per_gpu 3000 --ds.ring_attn_size 2 "
                "--ds.tensor_parallel_size 2") == Budgets{"12000", "12000"});
}

TEST_CASE("a model and rows that nobody names are to be set", "[convert]") {
  const std::string yaml = converted("-m verl.trainer.main_ppo actor_rollout_ref.model.path=").yaml;
  CHECK_THAT(yaml, Contains("pretrain: set-me/to-a-model-folder ") && Contains("file_name: [set-me/rows.jsonl]"));
}

TEST_CASE("a number of GPUs that nobody says is asked for", "[convert]") {
  const std::vector<ForeignKey> keys{{"actor_rollout_ref.model.path", "m", "y:1", ""}};
  CHECK_THROWS_WITH(convert_config(keys, "verl", {}),
                    Contains("trainer.n_gpus_per_node is not given") && Contains("-n"));
  CHECK_THAT(convert_config(keys, "verl", 4).yaml, Contains("list(range(0,4))"));
}

TEST_CASE("each key names its line, and a name keeps what is known of it", "[convert]") {
  const Converted out =
      converted("run.py actor_rollout_ref.model.path=m \\\n trainer.experiment_name=a-$(date +%F)-$SUFFIX");
  CHECK_THAT(out.yaml, Contains("# from s:1: actor_rollout_ref.model.path"));
  CHECK(value_in(out, "exp_name") == "a");
  CHECK_THAT(fmt::format("{}", fmt::join(out.differences, "; ")),
             Contains("$(date +%F) (s:2), ${oc.env:SUFFIX} is left out of the name"));
}

TEST_CASE("slime's validation may have longer responses, and a KL of coefficient 0 is none", "[convert]") {
  const Converted out = converted(
      "train.py --hf-checkpoint m --actor-num-gpus-per-node 8 --num-rollout 3 --rollout-max-response-len 8192 "
      "--eval-prompt-data aime a.jsonl --eval-max-response-len 16384 --use-kl-loss --kl-loss-coef 0.00");
  CHECK(value_in(out, "val_sequence_length") == "17408");
  CHECK(value_in(out, "use_kl_loss") == "false");
  CHECK(value_in(out, "kl_loss_coef") == "none");
}

TEST_CASE("OpenRLHF's newer flags are other names of the older ones", "[convert]") {
  const std::string script =
      "-m openrlhf.cli.train_ppo_ray --actor.model_name_or_path m --actor.num_gpus_per_node 8 --rollout.batch_size 64 "
      "--rollout.n_samples_per_prompt 4 --train.batch_size 128 --data.max_len 3072 --rollout.max_new_tokens 2048 "
      "--algo.advantage.estimator rloo --actor.adam.lr 2e-6 --algo.kl.init_coef 0 ";
  const Converted out = converted(script);
  CHECK(value_in(out, "rollout_batch_size") == "64");
  CHECK(value_in(out, "prompt_length") == "1024");
  CHECK(value_in(out, "response_length") == "2048");
  CHECK(value_in(out, "adv_estimator") == "rloo");
  CHECK_THAT(out.yaml, Contains("learning_rate: 2e-6 ") && Contains("# from s:1: actor.adam.lr"));
  CHECK_THROWS_WITH(converted(script + "--train.agent_func_path a.py"),
                    Contains("train.agent_func_path = a.py: agents are not converted"));
}

TEST_CASE("columns are those of the rows that the other trainer reads", "[convert]") {
  const std::string verl = "-m verl.trainer.main_ppo actor_rollout_ref.model.path=m data.val_files=v.parquet ";
  const std::string standard = converted(verl).yaml;
  CHECK_THAT(standard, Contains("messages: prompt") && Contains("ground_truth: reward_model.ground_truth"));
  CHECK_THAT(standard, Contains("tag: data_source") && Contains("# as for training"));
  const std::string named = converted(verl + "data.prompt_key=chat data.reward_fn_key=source").yaml;
  CHECK_THAT(named, Contains("messages: chat ") && Contains("tag: source "));

  const std::string slime = "train.py --hf-checkpoint m --actor-num-gpus-per-node 1 --num-rollout 3 ";
  const std::string text = converted(slime + "--input-key problem --label-key answer --apply-chat-template").yaml;
  CHECK_THAT(text, Contains("question: problem ") && Contains("ground_truth: answer "));
  const Converted chat = converted(slime + "--apply-chat-template");
  CHECK_THAT(chat.yaml, Contains("messages: input ") && !Contains("ground_truth:"));
  CHECK_THAT(fmt::format("{}", fmt::join(chat.differences, "; ")),
             Contains("if the column holds texts, use data_args.question"));
  CHECK_THAT(converted(slime).yaml, Contains(" prompt: input ") && !Contains("messages: input"));

  const std::string openrlhf =
      "-m openrlhf.cli.train_ppo_ray --actor.model_name_or_path m --actor.num_gpus_per_node 1 ";
  CHECK_THAT(converted(openrlhf + "--data.input_key context_messages --data.apply_chat_template").yaml,
             Contains("messages: context_messages "));
  CHECK_THAT(converted("-m trl.grpo --model_name_or_path m --num_generations 8 --learning_rate 1").yaml,
             !Contains("messages:"));
}

TEST_CASE("a reward model is the reward, and what shapes it goes with it", "[convert]") {
  const std::string verl = "-m verl.trainer.main_ppo actor_rollout_ref.model.path=m reward_model.enable=True ";
  const std::string overlong = "reward_model.overlong_buffer.enable=True reward_model.overlong_buffer.len=8 ";
  const std::string yaml = converted(verl + overlong + "reward_model.model.path=judge").yaml;
  CHECK_THAT(yaml, Contains("type: reward_model ") && Contains("model_name_or_path: judge ") && Contains("len: 8 "));
  CHECK_THAT(yaml, !Contains("math_rule") && !Contains("ground_truth:"));
  CHECK_THROWS_WITH(converted(verl), Contains("reward_model.model.path is not given"));
  CHECK_THAT(converted("-m verl.trainer.main_ppo actor_rollout_ref.model.path=m reward_model.model.path=judge").yaml,
             Contains("type: math_rule") && Contains("reward_model.model.path = judge (s:1): has no effect"));

  const std::string openrlhf =
      "-m openrlhf.cli.train_ppo_ray --actor.model_name_or_path m --actor.num_gpus_per_node 1 "
      "--reward.model_name_or_path judge ";
  CHECK_THAT(converted(openrlhf).yaml, Contains("model_name_or_path: judge "));
  CHECK_THAT(converted(openrlhf + "--reward.remote_url r.py").yaml, Contains("python: r.py:reward_func"));
}

TEST_CASE("stages of a pipeline are those of all roles that train", "[convert]") {
  const std::string actor = " actor_rollout_ref.actor.megatron.",
                    verl = "-m verl.trainer.main_ppo data.train_files=a" +
                           std::string(" actor_rollout_ref.model.path=m trainer.n_gpus_per_node=8 trainer.nnodes=2");
  const std::string two = verl + actor + "pipeline_model_parallel_size=2" + actor +
                          "virtual_pipeline_model_parallel_size=4" + actor +
                          "override_transformer_config.account_for_loss_in_pipeline_split=True";
  const std::string text = converted(two).yaml;
  for (const char* key : {"pipeline_model_parallel_size: 2", "virtual_pipeline_model_parallel_size: 4",
                          "account_for_loss_in_pipeline_split: true"})
    for (const char* role : {"actor_train:", "critic:"}) {
      INFO(key << " of " << role);
      CHECK_THAT(text.substr(text.find(std::string("\n") + role)), Contains(key));
    }
  CHECK_THAT(converted(verl + actor + "virtual_pipeline_model_parallel_size=null").yaml,
             !Contains("pipeline_model_parallel_size:"));
  const std::string slime = "train.py --hf-checkpoint m --actor-num-gpus-per-node 8 --pipeline-model-parallel-size 2 ";
  CHECK_THAT(
      converted(slime + "--pipeline-model-parallel-layout 'Et|tt|tL' --decoder-last-pipeline-num-layers 3").yaml,
      Contains("pipeline_model_parallel_layout: \"Et|tt|tL\"") && Contains("num_layers_in_last_pipeline_stage: 3"));
  CHECK_THROWS_WITH(converted(slime + "--num-layers-per-virtual-pipeline-stage 2"),
                    Contains("give --num-virtual-stages-per-pipeline-rank"));
}

TEST_CASE("ranks that share experts divide those of data, and tensor ranks share the rest", "[convert]") {
  const std::string verl =
      "-m verl.trainer.main_ppo actor_rollout_ref.model.path=m trainer.n_gpus_per_node=8 "
      "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 "
      "actor_rollout_ref.actor.megatron.expert_model_parallel_size=";
  const Converted eight = converted(verl + "8"), two = converted(verl + "2");
  CHECK_THAT(eight.yaml, Contains("expert_model_parallel_size: 2 "));
  CHECK_THAT(eight.yaml, Contains("layout: 8 ranks share the experts in the source"));
  CHECK_THAT(two.yaml,
             Contains("expert_model_parallel_size: 2 ") && !Contains("ranks share the experts in the source"));
  CHECK_THAT(converted(verl + "1").yaml, !Contains("expert_model_parallel_size"));
  CHECK_THAT(converted("train.py --hf-checkpoint m --actor-num-gpus-per-node 8 --tensor-model-parallel-size 4 "
                       "--expert-model-parallel-size 8 --expert-tensor-parallel-size 1")
                 .yaml,
             Contains("expert_model_parallel_size: 2 "));
}

TEST_CASE("verl's newer names of rewards mean the same", "[convert]") {
  const std::string verl = "-m verl.trainer.main_ppo actor_rollout_ref.model.path=m reward.";
  CHECK_THAT(converted(verl + "reward_kwargs.overlong_buffer_cfg.enable=True "
                              "reward.reward_kwargs.overlong_buffer_cfg.len=4096 reward.reward_manager.name=dapo")
                 .yaml,
             Contains("len: 4096 ") && Contains("enable: true ") && !Contains("NOT SUPPORTED"));
  CHECK_THAT(converted(verl + "reward_model.enable=True reward.reward_model.model_path=judge").yaml,
             Contains("model_name_or_path: judge "));
  CHECK_THAT(converted(verl + "custom_reward_function.path=r.py").yaml, Contains("python: r.py:compute_score"));
}

TEST_CASE("the sampler's experts are gone through again, the trainer's own are refused", "[convert]") {
  const std::string verl = "-m verl.trainer.main_ppo actor_rollout_ref.model.path=m actor_rollout_ref.actor.";
  for (const char* engine : {"", "megatron.", "veomni."}) {
    CHECK(value_in(converted(verl + engine + "router_replay.mode=R3"), "routing_replay") == "true");
    CHECK(value_in(converted(verl + engine + "router_replay.mode=disabled"), "routing_replay") == "none");
    CHECK_THROWS_WITH(converted(verl + engine + "router_replay.mode=R2"), Contains("R3 replays the sampler's"));
  }
}

TEST_CASE("a model that slime's Python describes is here where its folder is", "[convert]") {
  const std::string slime = "train.py --hf-checkpoint m --actor-num-gpus-per-node 8 --spec slime_plugins.models.";
  CHECK_NOTHROW(converted(slime + "qwen3_5 get_qwen3_5_spec --use-gated-attention --attention-output-gate"));
  CHECK_NOTHROW(converted(slime + "glm4 get_glm_spec"));
  CHECK_THROWS_WITH(converted(slime + "glm4 get_glm_spec --use-gated-attention"),
                    Contains("not a supported attention"));
  CHECK_THROWS_WITH(converted(slime + "minimax_m2 get_spec"), Contains("a model defined in Python"));
  CHECK_THAT(converted(slime + "glm4 get_glm_spec --mtp-num-layers 1").yaml, !Contains("mtp_loss_coef"));
  CHECK_THAT(converted(slime + "glm4 get_glm_spec --mtp-num-layers 1 --enable-mtp-training").yaml,
             Contains("mtp_loss_coef: 0.1 "));
}

TEST_CASE("a configuration of ROLL is not another trainer's", "[convert]") {
  CHECK_THROWS_WITH(convert_config({{"rollout_batch_size", "8", "r.yaml:1", ""},
                                    {"actor_train.training_args.learning_rate", "1e-6", "r.yaml:4", ""}},
                                   "auto", 1),
                    Contains("r.yaml:4: actor_train.training_args.learning_rate: a key of ROLL; roll reads") &&
                        Contains("validate-config"));
}

}  // namespace roll
