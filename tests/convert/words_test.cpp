#include "convert/words.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "config/walk.h"
#include "settings/foreign_words.h"
#include "settings/sft_config.h"

namespace roll {

TEST_CASE("words of other trainers name keys of ours", "[convert]") {
  const std::map<std::string, std::string> wanted = {
      {"lr", "actor_train.training_args.learning_rate"},
      {"actor-lr", "actor_train.training_args.learning_rate"},
      {"critic_lr", "critic.training_args.learning_rate"},
      {"beta", "kl_loss_coef"},
      {"num_generations", "num_return_sequences_in_group"},
      {"N_Samples_Per_Prompt", "num_return_sequences_in_group"},
      {"kl_coef", "init_kl_coef"},
      {"loss_type", "loss_agg_mode"},
      {"bfloat16", "actor_train.model_args.dtype"},
      {"micro_batch_size", "actor_train.training_args.per_device_train_batch_size"},
      {"global_batch_size", "actor_train.training_args.train_batch_size"},
      {"ppo_mini_batch_size", "actor_train.training_args.train_batch_size"},
      {"max_completion_length", "response_length"},
      {"train_files", "actor_train.data_args.file_name"},
      {"overlong_buffer_len", ""},
      {"gpu_memory_utilization", "actor_infer.strategy_args.strategy_config.gpu_memory_utilization"},
  };
  for (const auto& [word, key] : wanted) {
    INFO(word);
    const auto known = foreign_word(word);
    if (key.empty()) {
      CHECK_FALSE(known);
      continue;
    }
    REQUIRE(known);
    CHECK(std::ranges::find(known->keys, key) != known->keys.end());
  }
}

TEST_CASE("every key that a word of another trainer names exists", "[convert]") {
  Config example;
  std::vector<std::string> paths;
  walk(example, WalkDepth::kExamples, [&](const KeyInfo& info, const AnyMember&) { paths.push_back(info.path); });
  int64_t with_keys = 0;
  for (const std::string& word : listed_foreign_words()) {
    const auto known = foreign_word(word);
    if (!known) continue;
    INFO(word << ": " << word_text(*known));
    CHECK_FALSE((known->keys.empty() && known->how.empty()));
    for (const std::string& key : known->keys) {
      ++with_keys;
      CHECK(std::ranges::find(paths, key) != paths.end());
    }
  }
  CHECK(with_keys > 200);
}

TEST_CASE("advice is of the configuration that is read", "[convert]") {
  CHECK(foreign_advice<Config>("lr") == "; here it is actor_train.training_args.learning_rate");
  CHECK(foreign_advice<SftConfig>("lr") == "; here it is sft_train.training_args.learning_rate");
  CHECK(foreign_advice<Config>("beta") == "; here it is kl_loss_coef, with use_kl_loss: true");
  CHECK(foreign_advice<SftConfig>("beta").empty());
  CHECK(foreign_advice<Config>("lora_r") == "; here it is actor_train.model_args.lora_rank");
  CHECK(foreign_advice<Config>("nobody_says_this").empty());
}

}  // namespace roll
