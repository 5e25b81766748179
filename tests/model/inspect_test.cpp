// What `roll inspect` says of folders that are known and of one that is not.
#include "model/inspect.h"

#include <catch2/catch.hpp>

#include "base/file.h"
#include "checkpoint/temporary_folder.h"
#include "model/golden.h"

namespace roll {

using Catch::Contains;

TEST_CASE("a known model is described", "[model]") {
  const test::TemporaryFolder folder;
  test::write_golden_folder(test::read_golden("gemma2"), false, folder / "m");
  const Inspection found = inspect_folder(folder / "m");
  CHECK(found.is_known);
  CHECK_THAT(found.text, Contains("architecture: gemma2 (Gemma2ForCausalLM)"));
  CHECK_THAT(found.text, Contains("window: 8 tokens in 1 of the layers"));
  CHECK_THAT(found.text, Contains("capped scores") && Contains("norm weights around 1") && Contains("capped logits"));
}

TEST_CASE("what is read of a mixture is not said to be unread", "[model]") {
  const test::TemporaryFolder folder;
  test::write_golden_folder(test::read_golden("qwen3_moe_dense_layer"), false, folder / "m");
  Json config = HfFolder::read_config(folder / "m");
  config["model_type"] = "qwen9_moe";
  config["num_memory_tokens"] = 4;
  write_file_atomic(folder / "m" / "config.json", config.dump());
  CHECK_THAT(inspect_folder(folder / "m").text,
             Contains("roll does not read: output_router_logits, router_aux_loss_coef, num_memory_tokens\n"));
}

TEST_CASE("of an unknown model it is said what is lacking", "[model]") {
  const test::TemporaryFolder folder;
  test::write_golden_folder(test::read_golden("olmo2"), false, folder / "m");
  Json config = HfFolder::read_config(folder / "m");
  config["model_type"] = "olmo9";
  config["num_memory_tokens"] = 4;
  write_file_atomic(folder / "m" / "config.json", config.dump());
  const Inspection found = inspect_folder(folder / "m");
  CHECK_FALSE(found.is_known);
  CHECK_THAT(found.text, Contains("model_type = olmo9") && Contains("roll does not read: num_memory_tokens\n"));
  CHECK_THAT(found.text, Contains("nearest architecture: olmo2") && Contains("only the folder has: none"));
}

}  // namespace roll
