#include "settings/key_lists.h"

#include <catch2/catch.hpp>

#include "base/error.h"

namespace roll {

TEST_CASE("the key reference names every key with its default, and whose it is", "[settings]") {
  const std::string table = key_table(command_keys("train"), KeyFormat::kText, /*with_idle=*/true);
  for (const char* row : {"rollout_batch_size: 128 ", "training_args.learning_rate: 5e-05 ", "(actor_train, critic)",
                          "type: null ", "train_infer_correction ", "hydra ", "lora_rank "})
    CHECK_THAT(table, Catch::Contains(row));
  CHECK_THAT(key_table(command_keys("sft"), KeyFormat::kText, false), Catch::Contains("data_args.response: null "));
  const std::string explained = explain_key("learning_rate", all_keys());
  CHECK_THAT(explained,
             Catch::Contains(
                 "actor_train, critic, sft_train, student: training_args.learning_rate\n  number; default 5e-05\n"));
  CHECK_THROWS_WITH(explain_key("actor_infer.training_args.learning_rate", all_keys()), Catch::Contains("no such key"));
}

}  // namespace roll
