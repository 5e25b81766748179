// What `roll inspect` says of folders that are known and of one that is not.
#include "model/inspect.h"

#include <catch2/catch.hpp>

#include "base/file.h"
#include "checkpoint/temporary_folder.h"
#include "model/golden.h"
#include "model/model_folder.h"

namespace roll {

using Catch::Contains;
using Catch::EndsWith;

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
  CHECK_THAT(found.text, Contains("model_type = olmo9: roll does not know this architecture; did you mean 'olmo2'?\n"));
  CHECK_THAT(found.text, Contains("roll does not read: num_memory_tokens\nnearest architecture: olmo2\n"));
  CHECK_THAT(found.text,
             EndsWith("its tensors are the same; if it also computes the same, write model_type = olmo2\n"));
}

TEST_CASE("a command that loads an unknown model says which is nearest, and what differs", "[model]") {
  const test::TemporaryFolder folder;
  const auto refusal = [&](const char* golden, const std::string& from, const std::string& to) {
    Json numbers = test::read_golden(golden);
    NamedTensors weights = test::golden_weights(numbers, false);
    for (auto& [name, tensor] : weights)
      if (const size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
    numbers["config"]["model_type"] = "mystery";
    test::save_folder(folder / golden, numbers["config"], weights, {});
    return test::message_of([&] { read_spec(folder / golden); });
  };
  CHECK_THAT(refusal("exaone4", "q_norm", "query_norm"),
             EndsWith("\nnearest architecture: exaone4\n"
                      "tensors that only the folder has: model.layers.*.self_attn.query_norm.weight (2)\n"
                      "tensors that only this architecture has: model.layers.*.self_attn.q_norm.weight (2)"));
  CHECK_THAT(refusal("ministral", "not there", ""),
             Contains("nearest architecture: llama\nits tensors are the same; if it also computes the same"));
  CHECK_THAT(refusal("mixtral", "w1", "w9"),
             Contains("nearest architecture: mixtral\n") &&
                 Contains("only the folder has: model.layers.*.block_sparse_moe.experts."
                          "*.w9.weight (12)\n"));
  CHECK_THAT(refusal("qwen3_vl", "model.language_model.norm", "model.language_model.last_norm"),
             Contains("nearest architecture: qwen3_vl\n"));
}

}  // namespace roll
