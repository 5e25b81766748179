// What ROLL's agentic recipes say in words that mean something else than in its others.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "checkpoint/temporary_folder.h"
#include "settings/load_config.h"
#include "settings/recipe.h"

namespace roll {

namespace {

const std::string kLakes = std::string(ROLL_SOURCE_DIR) + "/configs/frozen_lake_cpu.yaml";

auto loaded(std::vector<std::string> overrides) {
  return load_config(kLakes, overrides, {.num_ranks = 2, .offline = true});
}

bool notes(const CheckedConfig<Config>& checked, const std::string& part) {
  return std::ranges::any_of(checked.notes, [&](const auto& note) { return mentions(note, part); });
}

std::vector<std::string> update_of(int64_t sequences_per_rank) {
  return {"actor_train.training_args.train_batch_size=null", "actor_train.training_args.per_device_train_batch_size=4",
          "actor_train.training_args.gradient_accumulation_steps=" + std::to_string(sequences_per_rank / 4)};
}

}  // namespace

TEST_CASE("an update of twice a step's trajectories is one of the step's, as copies change nothing", "[train]") {
  const auto twice = loaded(update_of(256));  // on each of 2 ranks, of the step's 256
  CHECK(twice.config.actor_train.mini_batch() == 256);
  CHECK(twice.config.actor_train.micro_batch() == 4);
  CHECK(notes(twice, "an update would have 512 trajectories, but a step has 256"));
  const auto half = loaded(update_of(64));
  CHECK(half.config.actor_train.mini_batch() == 128);
  CHECK_FALSE(notes(half, "an update would have"));
  CHECK_THAT(test::message_of([] { loaded(update_of(192)); }),
             Catch::Contains("must be a multiple of the mini-batch of 384"));  // some would be there twice, some once
}

TEST_CASE("grpo without normalisation is reinforce, which needs no group", "[train]") {
  const std::string alone = "train_env_manager.group_size=1";
  CHECK_THAT(test::message_of([&] { loaded({alone}); }), Catch::Contains("compares the responses of one prompt"));
  const auto plain = loaded({alone, "reward_normalization={grouping: tags, method: identity}"});
  CHECK(plain.config.experience.adv_estimator == Chosen<AdvantageEstimator>("reinforce"));
  CHECK_FALSE(plain.config.experience.normalisation().mean);
  CHECK(notes(plain, "adv_estimator = grpo: is replaced by reinforce, because reward_normalization"));
  for (const char* kept : {"{method: mean_std, grouping: traj_group_id}", "{method: identity, norm_mean_type: group}"})
    CHECK(
        loaded({"norm_std_type=group", std::string("reward_normalization=") + kept}).config.experience.adv_estimator ==
        Chosen<AdvantageEstimator>("grpo"));
}

TEST_CASE("environments that are Python classes are told what is there in their place, and not their own keys",
          "[train]") {
  using Catch::Contains;
  const auto why = [](const std::string& type, const std::string& key) {
    return test::message_of([&] {
      loaded({"custom_envs.FrozenLake.env_type=" + type, "custom_envs.FrozenLake.env_config." + key,
              "custom_envs.FrozenLake.tool_wrapper={tool_configs: [1]}"});
    });
  };
  for (const auto& [type, instead] : std::map<std::string, std::string>{
           {"webshop", "env_type: command (configs/agentic.md, An environment of your own)"},
           {"rg:letter_counting", "env_type: command (configs/agentic.md, An environment of your own)"},
           {"game:GuessTheNumber-v0", "env_type: guess_the_number"},
           {"sokoban_native_env", "env_type: sokoban,"},
           {"rock_tb_native_env", "env_type: openai (configs/agentic.md, An agent of your own)"},
           {"math:Math12K", "rewards.<domain>.type: math_rule"},
           {"roll_qa", "env_type: tools with env_config.questions"},
           {"code:Taco8k", "rewards.<domain>.type: code_sandbox"}}) {
    const std::string told = why(type, "own_key=1");
    CHECK_THAT(told, Contains("custom_envs.FrozenLake.env_type = ") && Contains(instead));
    CHECK_THAT(told, !Contains("own_key") && !Contains("tool_wrapper"));
    CHECK_THAT(why(type, "size=500"), !Contains("size = 500"));  // there it may mean something else
  }
  CHECK_THAT(why("web_shop", "own_key=1"), Contains("must be one of frozen_lake") && Contains("own_key"));
  CHECK_FALSE(loaded({"custom_envs.FrozenLake.agent_system_template=null"})
                  .config.agentic.custom_envs.at("FrozenLake")
                  .agent_system_template);
}

TEST_CASE("float16 is for a GPU, and what it takes there is said without a CPU", "[train]") {
  std::vector<std::string> overrides = {"pretrain=Qwen/Qwen2.5-0.5B", "actor_train.device_mapping=[0]",
                                        "actor_infer.device_mapping=[0]"};
  const auto memory = [&](const std::string& dtype) {
    overrides.push_back("actor_train.model_args.dtype=" + dtype);
    return load_config(kLakes, overrides, {.offline = true}).memory;
  };
  CHECK(mentions(memory("bf16"), "on the CPU, rank"));
  CHECK(mentions(memory("fp16"), "memory of a rank (GPU)"));
  CHECK_FALSE(mentions(memory("fp16"), "on the CPU, rank"));
}

}  // namespace roll
