// Keys that decide what is trained: converted, or refused by their name; never told and left out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "config/yaml.h"
#include "convert/convert.h"

namespace roll {
namespace {

using Catch::Matchers::Contains;
using KeyPairs = std::vector<std::pair<std::string, std::string>>;

Converted made_from(const std::string& trainer, const KeyPairs& pairs) {
  static const std::map<std::string, KeyPairs> kNeeded{
      {"verl", {{"actor_rollout_ref.model.path", "m"}, {"actor_rollout_ref.rollout.n", "4"}}},
      {"trl", {{"model_name_or_path", "m"}, {"num_generations", "4"}}},
      {"slime", {{"hf-checkpoint", "m"}, {"n-samples-per-prompt", "4"}}},
      {"openrlhf", {{"pretrain", "m"}, {"n_samples_per_prompt", "4"}}}};
  std::vector<ForeignKey> keys;
  for (const KeyPairs* some : {&kNeeded.at(trainer), &pairs})
    for (const auto& [key, value] : *some) keys.push_back({key, value, "y:1", ""});
  return convert_config(keys, trainer, 1);
}

std::string written_value(const Converted& made, const std::string& key) {
  const Node tree = parse_yaml(made.yaml, "converted");
  const Node* value = tree.find(key);
  return value ? value->text : "none";
}

std::string differences_of(const Converted& made) {
  return fmt::format("{}", fmt::join(made.differences, "; "));
}

const std::string kActorKeys = "actor_rollout_ref.actor.", kCorrectionKeys = "algorithm.rollout_correction.";

}  // namespace

TEST_CASE("what changes the objective and is not here is refused by its key", "[convert]") {
  struct Case {
    const char* trainer;
    KeyPairs keys;
    std::string named;  // the refused key
  };
  const std::string kMode = kActorKeys + "policy_loss.loss_mode";
  const std::pair<std::string, std::string> grpo{"algorithm.adv_estimator", "grpo"}, gspo{kMode, "gspo"};
  const std::vector<Case> cases{
      {"verl", {grpo, gspo, {kActorKeys + "use_kl_loss", "True"}}, kActorKeys + "loss_agg_mode"},
      {"verl", {grpo, gspo, {kActorKeys + "entropy_coeff", "0.1"}}, kActorKeys + "loss_agg_mode"},
      {"verl", {{"algorithm.adv_estimator", "gae"}, {kMode, "geo_mean"}}, kActorKeys + "loss_agg_mode"},
      {"verl",
       {{"algorithm.adv_estimator", "gae"}, gspo, {kActorKeys + "loss_agg_mode", "seq-mean-token-mean"}},
       kMode},
      {"verl", {{"algorithm.adv_estimator", "optimal_token_baseline"}, gspo}, kMode},
      {"verl", {{"algorithm.adv_estimator", "reinforce_plus_plus"}, {"algorithm.gamma", "0.9"}, gspo}, kMode},
      {"verl", {{"algorithm.adv_estimator", "remax"}, {"algorithm.use_kl_in_reward", "True"}, gspo}, kMode},
      {"verl", {grpo, {"algorithm.use_kl_in_reward", "True"}}, "algorithm.use_kl_in_reward"},
      {"verl", {grpo, {kActorKeys + "loss_agg_mode", "median"}}, kActorKeys + "loss_agg_mode"},
      {"verl",
       {grpo, {kActorKeys + "use_kl_loss", "True"}, {kActorKeys + "kl_loss_type", "full"}},
       kActorKeys + "kl_loss_type"},
      {"verl",
       {{"algorithm.adv_estimator", "gpg"}, {"actor_rollout_ref.rollout.n", "1"}},
       "actor_rollout_ref.rollout.n"},
      {"verl", {grpo, {kMode, "dro"}}, kActorKeys + "policy_loss.dro_beta"},
      {"verl", {grpo, {kMode, "geo_mean"}, {kCorrectionKeys + "rollout_is", "token"}}, kCorrectionKeys + "rollout_is"},
      {"verl", {{"critic.loss_agg_mode", "seq-mean-token-sum"}}, "critic.loss_agg_mode"},
      {"verl", {{"critic.ppo_epochs", "3"}}, "critic.ppo_epochs"},
      {"verl", {{"critic.optim.min_lr", "1e-6"}}, "critic.optim.min_lr"},
      {"verl", {grpo, {kActorKeys + "qat.enable", "True"}}, kActorKeys + "qat.enable"},
      {"verl", {grpo, {kActorKeys + "optim.optimizer", "muon"}}, kActorKeys + "optim.optimizer"},
      {"verl",
       {grpo, {"actor_rollout_ref.model.override_config.attention_dropout", "0.1"}},
       "actor_rollout_ref.model.override_config.attention_dropout"},
      {"verl", {grpo, {kActorKeys + "clip_ration_low", "0.3"}}, kActorKeys + "clip_ration_low"},
      {"verl", {grpo, {"algorithm.new_advantage.clip", "0.3"}}, "algorithm.new_advantage.clip"},
      {"verl", {grpo, {"some.new.LoRA", "8"}}, "some.new.LoRA"},
      {"trl", {{"loss_type", "vespo"}}, "loss_type"},
      {"trl", {{"delta", "1.1"}}, "delta"},
      {"trl", {{"top_entropy_quantile", "0.2"}}, "top_entropy_quantile"},
      {"trl", {{"off_policy_mask_threshold", "0.5"}}, "off_policy_mask_threshold"},
      {"trl", {{"use_bias_correction_kl", "true"}}, "use_bias_correction_kl"},
      {"trl", {{"sync_ref_model", "true"}}, "sync_ref_model"},
      {"trl", {{"entropy_coef", "0.1"}, {"loss_type", "grpo"}}, "entropy_coef"},
      {"trl", {{"use_adaptive_entropy", "true"}}, "use_adaptive_entropy"},
      {"trl", {{"scale_rewards", "max"}}, "scale_rewards"},
      {"trl", {{"optim", "adafactor"}}, "optim"},
      {"trl", {{"optim", "adamw_8bit"}}, "optim"},
      {"trl", {{"neftune_noise_alpha", "5"}}, "neftune_noise_alpha"},
      {"trl", {{"rloo_trainer", "true"}, {"num_iterations", "2"}}, "num_iterations"},
      {"trl", {{"normalize_advantages", "true"}}, "normalize_advantages"},
      {"trl", {{"reward_clip_range", "[-5.0, 5.0]"}}, "reward_clip_range"},
      {"slime", {{"lora-rank", "8"}}, "lora-rank"},
      {"slime", {{"use-dora", "true"}}, "use-dora"},
      {"slime", {{"freeze-params-name-list", "embed"}}, "freeze-params-name-list"},
      {"slime", {{"only-train-params-name-list", "mlp"}}, "only-train-params-name-list"},
      {"slime", {{"use-opsm", "true"}}, "use-opsm"},
      {"slime", {{"use-unbiased-kl", "true"}}, "use-unbiased-kl"},
      {"slime", {{"use-rollout-logprobs", "true"}}, "use-rollout-logprobs"},
      {"slime", {{"ref-update-interval", "4"}}, "ref-update-interval"},
      {"slime", {{"custom-pg-loss-reducer-function-path", "my.py"}}, "custom-pg-loss-reducer-function-path"},
      {"slime", {{"custom-tis-function-path", "my.py"}}, "custom-tis-function-path"},
      {"slime", {{"dynamic-sampling-filter-path", "my.filter"}}, "dynamic-sampling-filter-path"},
      {"slime", {{"rollout-sample-filter-path", "my.filter"}}, "rollout-sample-filter-path"},
      {"slime", {{"advantage-estimator", "reinforce_plus_plus_baseline"}, {"kl-coef", "0.1"}}, "kl-coef"},
      {"slime", {{"optimizer", "sgd"}}, "optimizer"},
      {"slime", {{"attention-dropout", "0.1"}}, "attention-dropout"},
      {"slime", {{"min-lr", "1e-7"}, {"lr-decay-style", "linear"}}, "min-lr"},
      {"openrlhf", {{"advantage_estimator", "rloo"}}, "init_kl_coef"},
      {"openrlhf",
       {{"advantage_estimator", "group_norm"}, {"policy_loss_type", "gspo"}, {"use_kl_loss", "true"}},
       "policy_loss_type"},
      {"openrlhf",
       {{"advantage_estimator", "group_norm"}, {"policy_loss_type", "gspo"}, {"enable_vllm_is_correction", "true"}},
       "enable_vllm_is_correction"},
      {"openrlhf",
       {{"enable_vllm_is_correction", "true"}, {"vllm_is_correction_type", "seq-mask-tis"}},
       "vllm_is_correction_type"},
      {"openrlhf", {{"no_advantage_std_norm", "true"}}, "no_advantage_std_norm"},
      {"openrlhf", {{"reward_clip_range", "-5 10"}}, "reward_clip_range"},
      {"openrlhf", {{"use_kl_loss", "true"}, {"kl_target", "6"}}, "kl_target"},
      {"openrlhf", {{"normalize_reward", "true"}, {"reward_pretrain", "judge"}}, "normalize_reward"},
      {"openrlhf",
       {{"reward.normalize_enable", "true"}, {"remote_rm_url", "r.py"}, {"critic_pretrain", "judge"}},
       "reward.normalize_enable"},
      {"openrlhf", {{"stop_properly_penalty_coef", "0.5"}}, "stop_properly_penalty_coef"},
      {"openrlhf", {{"pretrain_data", "d"}}, "pretrain_data"},
      {"openrlhf", {{"aux_loss_coef", "0.01"}}, "aux_loss_coef"},
      {"openrlhf", {{"enable_ema", "true"}}, "enable_ema"},
      {"openrlhf", {{"remote_rm_url", "http://h:5000/score"}}, "remote_rm_url"},
      {"openrlhf", {{"critic.max_norm", "5"}}, "critic.max_norm"},
  };
  for (const auto& [trainer, keys, named] : cases) {
    INFO(fmt::format("{}: {}", trainer, named));
    CHECK_THROWS_WITH(made_from(trainer, keys), Contains(named) && (Contains("y:1: ") || Contains("defaults: ")));
  }
}

TEST_CASE("what is off, or as that trainer has it anyway, is no reason to refuse", "[convert]") {
  const std::pair<const char*, KeyPairs> cases[] = {
      {"verl", {{"algorithm.adv_estimator", "grpo"}, {"critic.ppo_epochs", "3"}, {"some.new.lora_flag", "False"}}},
      {"verl", {{"critic.loss_agg_mode", "token-mean"}, {"critic.use_dynamic_bsz", "True"}}},
      {"trl", {{"top_entropy_quantile", "1"}, {"optim", "adamw_torch_fused"}, {"label_smoothing_factor", "0.0"}}},
      {"slime", {{"attention-dropout", "0.0"}, {"lora-rank", "0"}, {"min-lr", "1e-7"}, {"lr-decay-style", "constant"}}},
      {"openrlhf", {{"aux_loss_coef", "0"}, {"reward_clip_range", "-5 5"}, {"no_advantage_std_norm", "false"}}},
  };
  for (const auto& [trainer, keys] : cases) CHECK_NOTHROW(made_from(trainer, keys));
}

TEST_CASE("layouts, kernels and where rewards are computed decide nothing, whatever their names hold", "[convert]") {
  const std::string model = "actor_rollout_ref.model.", transformer = "megatron.override_transformer_config.";
  const std::pair<const char*, KeyPairs> cases[] = {
      {"verl",
       {{"reward_model.use_reward_loop", "True"},
        {kActorKeys + transformer + "bias_dropout_fusion", "True"},
        {kActorKeys + transformer + "normalization", "RMSNorm"},
        {kActorKeys + "veomni.cross_entropy_loss_implementation", "liger_kernel"},
        {model + "override_config.model_config.max_position_embeddings", "8192"},
        {model + "lora.lora_A_init_method", "kaiming"},
        {model + "lora.lora_B_init_method", "zero"}}},
      {"slime", {{"expert-tensor-parallel-size", "1"}, {"tensor-model-parallel-size", "1"}}},
      {"openrlhf",
       {{"reward.num_nodes", "1"},
        {"reward.num_gpus_per_node", "2"},
        {"critic_pretrain", "c"},
        {"train.colocate_critic_reward", "true"}}},
      {"openrlhf", {{"reward.normalize_enable", "true"}, {"remote_rm_url", "r.py"}}},
  };
  for (const auto& [trainer, keys] : cases) {
    INFO(trainer);
    const Converted made = made_from(trainer, keys);
    CHECK_THAT(made.yaml, !Contains("expert_tensor_parallel_size"));
  }
  CHECK_THROWS_WITH(made_from("verl", {{model + "lora.lora_B_init_method", "xavier"}}),
                    Contains("adapters that do not start at 0"));
  CHECK_THROWS_WITH(made_from("openrlhf", {{"vllm.quantization", "fp8"}}),
                    Contains("which by its name changes the training"));
}

TEST_CASE("LoRA of slime's branches is LoRA here", "[convert]") {
  const Converted made =
      made_from("slime", {{"use-lora", "true"}, {"lora-rank", "8"}, {"lora-alpha", "32"}, {"lora-dropout", "0.1"}});
  CHECK_THAT(made.yaml, Contains("lora_rank: 8 ") && Contains("lora_alpha: 32 ") && Contains("lora_dropout: 0.1"));
  CHECK_THAT(made.yaml, Contains("lora_target: [all-linear]"));
  CHECK_THAT(
      made_from(
          "slime",
          {{"use-lora", "true"}, {"lora-rank", "8"}, {"lora-alpha", "16"}, {"lora-target-modules", "q_proj,v_proj"}})
          .yaml,
      Contains("lora_target: [q_proj, v_proj]"));
  CHECK_THAT(differences_of(made), Contains("no target modules are given"));
  const Converted enabled = made_from(
      "slime", {{"enable-lora", "true"}, {"lora-rank", "8"}, {"lora-alpha", "16"}, {"target-modules", "o_proj"}});
  CHECK_THAT(enabled.yaml, Contains("lora_target: [o_proj]"));
  CHECK_THAT(differences_of(enabled), !Contains("no target modules are given"));
  CHECK_THROWS_WITH(made_from("slime", {{"use-lora", "true"}, {"lora-rank", "8"}}), Contains("--lora-alpha"));
}

TEST_CASE("verl's sums over tokens are divided by what it divides them by", "[convert]") {
  const std::string mode = kActorKeys + "loss_agg_mode";
  const auto made_by = [&](const KeyPairs& more) {
    KeyPairs keys{{"algorithm.adv_estimator", "grpo"}};
    keys.insert(keys.end(), more.begin(), more.end());
    return made_from("verl", keys);
  };
  const Converted sums = made_by({{mode, "token-sum"}});
  CHECK(written_value(sums, "loss_agg_mode") == "seq-mean-token-sum-norm");
  CHECK(written_value(sums, "loss_aggregation_divisor") == "1");
  const Converted padded = made_by({{mode, "seq-mean-token-sum-norm"}, {"data.max_response_length", "300"}});
  CHECK(written_value(padded, "loss_agg_mode") == "constant");
  CHECK(written_value(padded, "loss_aggregation_divisor") == "300");
  CHECK_THAT(differences_of(padded), Contains("the width of its padded rows"));
  const Converted scaled = made_by({{mode, "seq-mean-token-sum-norm"}, {kActorKeys + "loss_scale_factor", "99"}});
  CHECK(written_value(scaled, "loss_aggregation_divisor") == "99");
  CHECK_THAT(differences_of(scaled), !Contains("the width of its padded rows"));
}

TEST_CASE("verl's ratio is cut twice by its plain loss alone", "[convert]") {
  const std::pair<std::string, std::string> grpo{"algorithm.adv_estimator", "grpo"};
  CHECK(written_value(made_from("verl", {grpo}), "dual_clip_c") == "3.0");
  const Converted gspo = made_from("verl", {grpo, {kActorKeys + "policy_loss.loss_mode", "gspo"}});
  CHECK(written_value(gspo, "dual_clip_loss") == "none");
  CHECK(written_value(gspo, "pg_clip_low") == "0.2");
}

TEST_CASE("the last learning rate of a cosine is a rate or a share, as it was there", "[convert]") {
  const std::string optim = kActorKeys + "optim.";
  const std::pair<std::string, std::string> cosine{optim + "lr_scheduler_type", "cosine"};
  CHECK_THAT(made_from("verl", {cosine, {optim + "min_lr", "2e-7"}}).yaml,
             Contains("lr_scheduler_type: cosine_with_min_lr ") && Contains(" min_lr: 2e-7 "));
  CHECK_THAT(made_from("verl", {cosine, {optim + "min_lr_ratio", "0.2"}}).yaml, Contains(" min_lr_rate: 0.2 "));
  CHECK_THAT(made_from("openrlhf", {{"lr_scheduler", "cosine_with_min_lr"}, {"min_lr_ratio", "0.3"}}).yaml,
             Contains(" min_lr_rate: 0.3 "));
}

TEST_CASE("a reward function is the one that its trainer calls", "[convert]") {
  const std::string function = "custom_reward_function.";
  const std::pair<std::string, std::string> file{function + "path", "r.py"};
  CHECK_THAT(made_from("verl", {file}).yaml, Contains("python: r.py:compute_score "));
  CHECK_THAT(made_from("verl", {file, {function + "name", "mine"}}).yaml, Contains("python: r.py:mine "));
}

TEST_CASE("verl's bounds of the ratio count, whatever clip_ratio says, unless they are null", "[convert]") {
  const std::pair<std::string, std::string> grpo{"algorithm.adv_estimator", "grpo"},
      alone{kActorKeys + "clip_ratio", "0.3"};
  const Converted ignored = made_from("verl", {grpo, alone});
  CHECK(written_value(ignored, "pg_clip_low") == "0.2");
  CHECK_THAT(differences_of(ignored), Contains("clip_ratio = 0.3 has no effect"));
  CHECK(written_value(made_from("verl", {grpo, alone, {kActorKeys + "clip_ratio_low", "null"}}), "pg_clip_low") ==
        "0.3");
}

TEST_CASE("a group of one response has no mean in verl", "[convert]") {
  const std::pair<std::string, std::string> one{"actor_rollout_ref.rollout.n", "1"};
  for (const char* name : {"grpo", "rloo", "opo"})
    CHECK(written_value(made_from("verl", {{"algorithm.adv_estimator", name}, one}), "adv_estimator") == "reinforce");
  CHECK(written_value(made_from("verl", {{"algorithm.adv_estimator", "grpo"}}), "adv_estimator") == "grpo");
}

TEST_CASE("a program of TRL's RLOOTrainer has RLOO's objective", "[convert]") {
  const auto launched = [](const std::string& program) {
    const std::string script = "python3 " + program + " --model_name_or_path m --num_generations 4";
    return convert_config(choose_launch(read_script(script, "s", {}), "s", {}).keys, "auto", 1);
  };
  CHECK(written_value(launched("examples/rloo.py"), "adv_estimator") == "rloo");
  CHECK(written_value(launched("examples/rloo.py"), "init_kl_coef") == "0.05");
  CHECK(written_value(launched("examples/grpo.py"), "adv_estimator") == "grpo");
}

TEST_CASE("verl's GDPO has an estimator of its own, and a term for each number of the function's", "[convert]") {
  const KeyPairs gdpo{{"algorithm.adv_estimator", "gdpo"}};
  const KeyPairs function{{"reward.custom_reward_function.path", "rlla.py"}, {"reward.reward_manager.name", "gdpo"}};
  const KeyPairs keys{{"algorithm.gdpo_reward_keys", R"(["accuracy_reward", "format_reward"])"}};
  const auto made = [&](std::initializer_list<KeyPairs> parts) {
    KeyPairs all = gdpo;
    for (const KeyPairs& part : parts) all.insert(all.end(), part.begin(), part.end());
    return made_from("verl", all);
  };
  const Converted two = made({function, keys});
  CHECK(written_value(two, "adv_estimator") == "gdpo_verl");
  CHECK_THAT(two.yaml, Contains(R"(terms: [{type: python, python: "rlla.py:compute_score", result_key: )"
                                R"("accuracy_reward", weight: 1.0}, {type: python, python: "rlla.py:compute_score", )"
                                R"(result_key: "format_reward", weight: 1.0}])"));
  CHECK_THAT(two.yaml, !Contains("NOT SUPPORTED"));
  const KeyPairs weights{{"algorithm.gdpo_reward_weights", "[2, 0.5]"}};
  CHECK_THAT(made({function, keys, weights}).yaml,
             Contains(R"("accuracy_reward", weight: 2})") && Contains(R"("format_reward", weight: 0.5})"));
  CHECK(written_value(made({function, keys, {{"algorithm.gamma", "0.9"}}}), "gamma") == "1");

  CHECK_THROWS_WITH(made({function}), Contains("gdpo_reward_keys") && Contains("names of the rewards"));
  CHECK_THROWS_WITH(made({keys}), Contains("custom_reward_function.path"));
  CHECK_THROWS_WITH(made({function, keys, {{"algorithm.gdpo_reward_weights", "[2]"}}}),
                    Contains("must have one weight for each of algorithm.gdpo_reward_keys"));
  CHECK_THROWS_WITH(made({function, keys, {{"actor_rollout_ref.rollout.n", "1"}}}), Contains("must be at least 2"));
  CHECK_THROWS_WITH(made({function, keys, {{"algorithm.use_kl_in_reward", "True"}}}),
                    Contains("has no effect on GDPO's advantages"));
}

}  // namespace roll
