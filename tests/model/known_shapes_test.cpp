#include "model/known_shapes.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace roll {

TEST_CASE("known shapes have the parameters that the Hub counts in their files", "[train]") {
  // Of Qwen3 0.6B and 1.7B the Hub counts the tied head twice; here it counts once.
  const std::map<std::string, int64_t> published = {
      {"Qwen2.5-0.5B", 494032768},
      {"Qwen2.5-1.5B", 1543714304},
      {"Qwen2.5-3B", 3085938688},
      {"Qwen2.5-7B", 7615616512},
      {"Qwen2.5-14B", 14770033664},
      {"Qwen2.5-32B", 32763876352},
      {"Qwen2.5-72B", 72706203648},
      {"Qwen3-0.6B", 596049920},
      {"Qwen3-1.7B", 1720574976},
      {"Qwen3-4B", 4022468096},
      {"Qwen3-8B", 8190735360},
      {"Qwen3-14B", 14768307200},
      {"Qwen3-32B", 32762123264},
      {"Llama-3-8B", 8030261248},
      {"Llama-3-70B", 70553706496},
      {"Llama-3.1-8B", 8030261248},
      {"Llama-3.1-70B", 70553706496},
      {"Llama-3.1-405B", 405853388800},
      {"Llama-3.2-1B", 1235814400},
      {"Llama-3.2-3B", 3212749824},
      {"Llama-3.3-70B", 70553706496},
      {"Qwen1.5-MoE-A2.7B", 14315784192},
      {"Qwen3-30B-A3B", 30532122624},
      {"Qwen3-235B-A22B", 235093634560},
      // As transformers makes them, biases of routers among it, without what sees and what predicts several tokens.
      {"GLM-4.5-Air", 106852251264},
      {"GLM-4.5", 352797829024},
      {"Qwen3-Next-80B-A3B", 79674391296},
      {"Qwen3.5-27B", 26895998464},
      {"Qwen3.5-35B-A3B", 34660610688},
      {"Qwen3.5-122B-A10B", 122111526912},
      {"Qwen3.5-397B-A17B", 396346350336},
      {"gemma-4-E2B", 4628569379},
      {"gemma-4-E4B", 7463013418},
      {"gemma-4-26B-A4B", 25233141790},
      {"gemma-4-31B", 30697345340},
  };
  CHECK(known_shapes().size() == published.size());
  for (const KnownShape& known : known_shapes()) {
    INFO(known.name);
    REQUIRE(published.contains(known.name));
    CHECK(known.spec.num_parameters() == published.at(known.name));
  }
}

TEST_CASE("a shape is found by the last part of a name, whatever was trained on top", "[train]") {
  const std::vector<std::pair<std::string, std::string>> names = {
      {"Qwen/Qwen2.5-7B", "Qwen2.5-7B"},
      {"qwen2.5-7b", "Qwen2.5-7B"},
      {"Qwen/Qwen2.5-Math-1.5B-Instruct", "Qwen2.5-1.5B"},
      {"./models/Qwen2.5-Coder-32B/", "Qwen2.5-32B"},
      {"Qwen/Qwen3-4B-Thinking-2507", "Qwen3-4B"},
      {"Qwen/Qwen3-8B-Base", "Qwen3-8B"},
      {"Qwen/Qwen3-30B-A3B-Instruct-2507", "Qwen3-30B-A3B"},
      {"Qwen/Qwen3-Next-80B-A3B-Instruct", "Qwen3-Next-80B-A3B"},
      {"meta-llama/Meta-Llama-3-8B-Instruct", "Llama-3-8B"},
      {"meta-llama/Llama-3.3-70B-Instruct", "Llama-3.3-70B"},
      {"google/gemma-4-26B-A4B-it", "gemma-4-26B-A4B"},
  };
  for (const auto& [name, known] : names) {
    INFO(name);
    REQUIRE(find_known_shape(name) != nullptr);
    CHECK(find_known_shape(name)->name == known);
  }
  for (const char* other : {"", "/", "Qwen/Qwen3-Omni-30B-A3B", "Qwen/Qwen2.5-VL-7B-Instruct",
                            "Qwen/Qwen2.5-7B-Instruct-AWQ", "Qwen", "output/checkpoint-500", "Qwen2.5-7B/model"})
    CHECK(find_known_shape(other) == nullptr);
}

TEST_CASE("a shape may be a known one, a config.json, or its folder", "[train]") {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("roll_test_shapes_test_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "config.json").string();
  const ModelSpec known = known_shape(GENERATE("Qwen3-14B", "gemma-4-E2B", "gemma-4-26B-A4B"));
  std::ofstream(file) << hf_config(known).dump();
  for (const std::string& text : {file, folder.string()}) {
    CHECK(known_shape(text).num_parameters() == known.num_parameters());
    CHECK(known_shape(text).forward_flops(1000, 1000) == known.forward_flops(1000, 1000));
  }
  std::ofstream(file) << "{}";
  CHECK_THROWS_WITH(known_shape(file), Catch::Contains("config.json: model_type: missing"));
  std::filesystem::remove_all(folder);
  CHECK_THROWS_WITH(known_shape("Qwen/Qwen25-7B-Instruct"),
                    Catch::Contains("did you mean Qwen2.5-7B?") && !Catch::Contains("known shapes"));
  CHECK_THROWS_WITH(known_shape("gpt2"),
                    Catch::Contains("known shapes: Qwen2.5-0.5B, ") && !Catch::Contains("did you mean"));
  CHECK_THROWS_AS(known_shape("gpt2"), UserError);
}

}  // namespace roll
