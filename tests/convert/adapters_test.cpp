#include "convert/adapters.h"

#include <fmt/ranges.h>

#include <catch2/catch.hpp>

#include "config/yaml.h"
#include "convert/convert.h"

namespace roll {
namespace {

using Catch::Matchers::Contains;

constexpr const char* kGae = "algorithm.adv_estimator=gae ";

Converted verl(const std::string& keys) {
  const std::string script = "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=m " + keys;
  return convert_config(choose_launch(read_script(script, "s", {}), "s", {}).keys, "auto", 1);
}
Converted verl_model(const std::string& keys) {
  return verl(kGae + std::string("actor_rollout_ref.model.") + keys);
}
Converted trl(const std::string& flags) {
  const std::string script = "python3 grpo.py --model_name_or_path m --num_generations 8 " + flags;
  return convert_config(choose_launch(read_script(script, "s", {}), "s", {}).keys, "trl", 1);
}
Converted openrlhf(const std::string& flags) {
  const std::string script =
      "python3 -m openrlhf.cli.train_ppo_ray --pretrain m --critic_pretrain m --actor_num_gpus_per_node 1 " + flags;
  return convert_config(choose_launch(read_script(script, "s", {}), "s", {}).keys, "auto", 1);
}

/// What is written of adapters in a role's model_args: "lora_rank=8 lora_alpha=16 ...".
std::string adapters_of(const Converted& converted, const std::string& role) {
  const Node tree = parse_yaml(converted.yaml, "converted");
  const Node* worker = tree.find(role);
  const Node* args = worker ? worker->find("model_args") : nullptr;
  std::string all;
  for (const char* key : {"lora_rank", "lora_alpha", "lora_target", "lora_dropout", "use_rslora", "use_dora",
                          "additional_target", "quantise_base"})
    if (const Node* value = args ? args->find(key) : nullptr) {
      std::vector<std::string> items;
      for (const Node& item : value->list) items.push_back(item.text);
      all += fmt::format("{}{}={}", all.empty() ? "" : " ", key,
                         items.empty() ? value->text : fmt::format("{}", fmt::join(items, ",")));
    }
  return all;
}

std::string told(const Converted& converted) {
  return fmt::format("{}", fmt::join(converted.differences, "; "));
}

}  // namespace

TEST_CASE("LoRA is taken over with its trainer's defaults", "[convert]") {
  CHECK(adapters_of(verl_model("lora_rank=32"), "actor_train") == "lora_rank=32 lora_alpha=16 lora_target=all-linear");
  CHECK(adapters_of(verl_model("lora.rank=32"), "actor_train") ==
        "lora_rank=32 lora_alpha=32 lora_target=q_proj,k_proj,v_proj,o_proj,gate_proj,up_proj,down_proj "
        "lora_dropout=0.0");
  CHECK(adapters_of(trl("--use_peft"), "actor_train") ==
        "lora_rank=16 lora_alpha=32 lora_target=q_proj,v_proj lora_dropout=0.05");
  CHECK_THAT(told(trl("--use_peft")), Contains("no target modules are given"));
  CHECK(adapters_of(openrlhf("--lora_rank 8"), "actor_train") ==
        "lora_rank=8 lora_alpha=16 lora_target=all-linear lora_dropout=0");
  CHECK_THAT(verl_model("lora_rank=32").yaml, Contains("# from s:1: actor_rollout_ref.model.lora_rank") &&
                                                  Contains("# actor_rollout_ref.model.lora_alpha's default"));
}

TEST_CASE("LoRA's keys are taken over", "[convert]") {
  const std::string model = " actor_rollout_ref.model.";
  CHECK(adapters_of(verl_model("lora_rank=32" + model + "lora_alpha=64" + model +
                               "target_modules=[q_proj,mlp.up_proj]" + model + "exclude_modules=null"),
                    "actor_train") == "lora_rank=32 lora_alpha=64 lora_target=q_proj,mlp.up_proj");
  const Converted dora = verl_model("lora.rank=8" + model + "lora.type=dora" + model + "lora.alpha=8" + model +
                                    "lora.dropout=0.1" + model + "lora.target_modules='[linear_fc1]'" + model +
                                    "lora.exclude_modules=[]" + model + "lora.dtype=bfloat16");
  CHECK(adapters_of(dora, "actor_train") ==
        "lora_rank=8 lora_alpha=8 lora_target=gate_proj,up_proj lora_dropout=0.1 use_dora=true");
  CHECK_THAT(told(dora), Contains("actor_train: in verl the adapters of a fused module"));
  const Converted canonical = verl_model("lora.rank=8" + model + "lora.type=canonical_lora" + model +
                                         "lora.target_modules=[linear_q,linear_fc1_gate]");
  CHECK_THAT(adapters_of(canonical, "actor_train"), Contains("lora_target=q_proj,gate_proj "));
  CHECK_THAT(told(canonical), !Contains("fused module"));
  CHECK_THAT(told(verl_model("lora.rank=8" + model + "lora.target_modules=[linear_proj]")), !Contains("fused module"));
  CHECK(adapters_of(trl("--use_peft --lora_r 4 --lora_alpha 8 --lora_dropout 0 --lora_target_modules q_proj o_proj "
                        "--use_rslora --use_dora --lora_modules_to_save lm_head --load_in_4bit"),
                    "actor_train") ==
        "lora_rank=4 lora_alpha=8 lora_target=q_proj,o_proj lora_dropout=0 "
        "use_rslora=true use_dora=true additional_target=lm_head quantise_base=nf4");
  const Converted int8 = trl("--use_peft --lora_target_modules all-linear --load_in_8bit");
  CHECK_THAT(adapters_of(int8, "actor_train"), Contains("lora_target=all-linear") && Contains("quantise_base=int8"));
  CHECK_THAT(told(int8), Contains("LLM.int8() also rounds activations"));
  for (const char* flags : {"--ds.lora.rank 8 --ds.lora.alpha 32 --ds.lora.dropout 0.1 --ds.lora.target_modules q_proj "
                            "v_proj --ds.load_in_4bit",
                            "--lora_rank 8 --lora_alpha 32 --lora_dropout 0.1 --target_modules q_proj,v_proj "
                            "--load_in_4bit"})
    CHECK(adapters_of(openrlhf(flags), "actor_train") ==
          "lora_rank=8 lora_alpha=32 lora_target=q_proj,v_proj lora_dropout=0.1 quantise_base=nf4");
}

TEST_CASE("a critic has adapters where it had some there", "[convert]") {
  CHECK(adapters_of(verl_model("lora_rank=32"), "critic").empty());
  const Converted verls = verl(kGae + std::string("critic.model.lora_rank=4 critic.model.lora_alpha=2"));
  CHECK(adapters_of(verls, "critic") == "lora_rank=4 lora_alpha=2 lora_target=all-linear");
  CHECK(adapters_of(verls, "actor_train").empty());
  CHECK(adapters_of(verl("algorithm.adv_estimator=grpo critic.model.lora_rank=4"), "critic").empty());
  const Converted both = openrlhf("--lora_rank 8 --load_in_4bit");
  CHECK(adapters_of(both, "critic") == adapters_of(both, "actor_train"));
}

TEST_CASE("no adapters where there were none", "[convert]") {
  for (const char* keys : {"lora_rank=0", "lora_rank=null", "lora.rank=0",
                           "lora_alpha=64 actor_rollout_ref.model.exclude_modules=[a] "
                           "actor_rollout_ref.model.lora_adapter_path=null"}) {
    INFO(keys);
    CHECK(adapters_of(verl_model(keys), "actor_train").empty());
  }
  CHECK_THAT(fmt::format("{}", fmt::join(verl_model("lora_alpha=64").without, "; ")),
             Contains("lora_alpha = 64 (s:1): has no effect with the other keys"));
  for (const char* flags : {"--use_peft false", "--lora_r 8 --load_in_4bit false"})
    CHECK(adapters_of(trl(flags), "actor_train").empty());
  CHECK(adapters_of(openrlhf("--lora_rank 0 --lora_alpha 32"), "actor_train").empty());
}

TEST_CASE("adapters that are not here are refused by their key", "[convert]") {
  const std::string model = "actor_rollout_ref.model.", rank = "lora_rank=8 " + model, group = "lora.rank=8 " + model;
  const std::pair<std::string, std::string> verls[] = {
      {"lora_rank=8.5", "lora_rank = 8.5: must be a whole number"},
      {"lora_rank=x", "lora_rank = x: must be a number"},
      {rank + "lora_alpha=x", "lora_alpha = x: must be a number"},
      {rank + "exclude_modules=[v_proj]", "exclude_modules = [v_proj]: excluding modules is not supported"},
      {rank + "target_modules=.*q_proj", "target_modules = .*q_proj: patterns are not supported"},
      {rank + "lora.rank=4", "lora.rank = 4: lora_rank is given too"},
      {"lora_adapter_path=a",
       "lora_adapter_path = a: to start from adapters, give their folder as " + model + "path after"},
      {"lora.adapter_path=a", "lora.adapter_path = a: to start from adapters"},
      {group + "lora.type=vlm_lora", "lora.type = vlm_lora: not a supported type"},
      {group + "lora.exclude_modules=[linear_fc1]",
       "lora.exclude_modules = [linear_fc1]: excluding modules is not supported"},
      {group + "lora.dropout=0.1 " + model + "lora.dropout_position=post", "dropout_position = post: dropout of the"},
  };
  for (const auto& [keys, why] : verls) {
    INFO(keys);
    CHECK_THROWS_WITH(verl_model(keys), Contains("s:1: " + model) && Contains(why));
  }
  const std::pair<const char*, const char*> trls[] = {
      {"--load_in_4bit", "load_in_4bit = true: 4-bit weights cannot be trained"},
      {"--load_in_8bit", "load_in_8bit = true: 8-bit weights cannot be trained"},
      {"--use_peft --load_in_4bit --bnb_4bit_quant_type fp4", "bnb_4bit_quant_type = fp4: must be nf4"},
      {"--use_peft --lora_target_parameters a", "lora_target_parameters = a: single parameters are not supported"},
      {"--use_peft --lora_dropout x", "lora_dropout = x: must be a number"},
  };
  for (const auto& [flags, why] : trls) {
    INFO(flags);
    CHECK_THROWS_WITH(trl(flags), Contains(std::string("s:1: ") + why));
  }
  CHECK_THROWS_WITH(openrlhf("--load_in_4bit"), Contains("s:1: load_in_4bit = true: 4-bit weights cannot be trained"));
}

}  // namespace roll
