#include "checkpoint/gguf/gguf_folder.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "checkpoint/gguf/gguf_file.h"
#include "checkpoint/gguf/rope_scaling.h"
#include "checkpoint/gguf_bytes.h"
#include "checkpoint/hf_folder.h"
#include "checkpoint/hub_cache.h"
#include "checkpoint/temporary_folder.h"

namespace roll {

namespace fs = std::filesystem;
using Catch::Contains;
using test::bytes_of;
using test::GgufBytes;
using test::message_of;
using test::small_gguf;
using test::TemporaryFolder;

namespace {

/// A cache of the test's own.
struct OwnCache : TemporaryFolder {
  OwnCache() { set_env("XDG_CACHE_HOME", path() / "cache"); }
  ~OwnCache() { set_env("XDG_CACHE_HOME", before); }
  std::string before = env("XDG_CACHE_HOME").value_or("");
};

}  // namespace

TEST_CASE("a GGUF file is found as a folder with config, tokenizer and weights", "[checkpoint]") {
  const OwnCache cache;
  const fs::path file = cache.write("small.gguf", small_gguf().whole());
  const fs::path folder = find_model_folder(file).value();
  CHECK(folder.parent_path() == cache / "cache/roll/gguf");
  CHECK(gguf_file_in(folder) == file);
  CHECK(gguf_file_in(cache.path()) == std::nullopt);
  const HfFolder opened = HfFolder::open(folder);
  CHECK(opened.config()["model_type"] == "llama");
  CHECK(opened.config()["tie_word_embeddings"] == true);
  CHECK(opened.tensor_file("model.norm.weight") == file);
  CHECK(at::equal(opened.read("model.norm.weight"), at::arange(8, at::kFloat)));
  const at::Tensor rows = at::arange(64, at::kFloat).reshape({8, 8});
  CHECK(at::equal(opened.read("model.layers.0.self_attn.v_proj.weight"), rows));
  // Two heads of four rows: pairs of neighbours become halves.
  CHECK(at::equal(opened.read("model.layers.0.self_attn.q_proj.weight"),
                  rows.index_select(0, at::tensor({0, 2, 1, 3, 4, 6, 5, 7}, at::kLong))));
  const Json tokenizer = read_json(folder / "tokenizer.json");
  CHECK(tokenizer["model"]["vocab"] == Json{{"a", 0}, {"b", 1}, {"ab", 2}});
  CHECK(tokenizer["added_tokens"][0]["id"] == 3);
  CHECK(read_json(folder / "generation_config.json")["eos_token_id"] == Json{3});
}

TEST_CASE("a GGUF file's folder is made once, by whoever is first, and anew if its files would differ",
          "[checkpoint]") {
  const OwnCache cache;
  const fs::path file = cache.write("small.gguf", small_gguf().whole());
  std::vector<std::thread> ranks;
  std::vector<fs::path> folders(8);
  for (fs::path& folder : folders)
    ranks.emplace_back([&] {
      try {
        folder = gguf_folder(file);
      } catch (const std::exception& error) {
        folder = error.what();
      }
    });
  for (std::thread& rank : ranks) rank.join();
  for (const fs::path& folder : folders) CHECK(folder == folders[0]);
  CHECK(list_folder(folders[0].parent_path()).size() == 1);  // nothing temporary is left
  const auto made = fs::last_write_time(folders[0] / "config.json");
  CHECK(gguf_folder(file) == folders[0]);
  CHECK(fs::last_write_time(folders[0] / "config.json") == made);
  fs::last_write_time(file, fs::last_write_time(file) + std::chrono::seconds(2));
  CHECK(gguf_folder(file) == folders[0]);
  test::GgufBytes other = test::small_gguf();
  other.add("tokenizer.ggml.bos_token_id", 4, uint32_t{3});
  cache.write("small.gguf", other.whole());
  CHECK(gguf_folder(file) != folders[0]);
}

TEST_CASE("a GGUF file's folder goes to the temporary folder where the cache cannot be written", "[checkpoint]") {
  const OwnCache cache;
  cache.write("cache", "a file where a folder should be");
  const fs::path file = cache.write("small.gguf", small_gguf().whole());
  const fs::path folder = gguf_folder(file);
  CHECK(folder.parent_path().parent_path() == fs::temp_directory_path());
  CHECK(is_there(folder / "config.json"));
  fs::remove_all(folder);
}

TEST_CASE("a folder of a GGUF file that is gone says so", "[checkpoint]") {
  const OwnCache cache;
  const fs::path file = cache.write("small.gguf", small_gguf().whole());
  const fs::path folder = gguf_folder(file);
  fs::remove(file);
  CHECK_THAT(message_of([&] { HfFolder::open(folder); }), Contains(file.string() + ": no such file"));
  CHECK_THAT(message_of([&] { model_folder(file); }), Contains("there is no such file; give a GGUF file"));
}

TEST_CASE("Llama 3's scaling is found from the divisors of frequencies", "[checkpoint]") {
  const TemporaryFolder folder;
  const gguf::File file(folder.write("x.gguf", small_gguf().whole()));
  // transformers' numbers for theta 500000, heads of 16, factor 8, 1 and 4, 8192 positions.
  const double theta = 500000;
  const Json found = gguf::llama3_scaling(file, {1, 1, 1, 1, 2.694530, 8, 8, 8}, theta);
  CHECK(found["factor"] == 8.0);
  CHECK(found["low_freq_factor"] == 1.0);
  CHECK(found["high_freq_factor"] == 4.0);
  CHECK(gguf::llama3_scaling(file, {1, 1, 1}, theta).is_null());
  CHECK_THAT(message_of([&] { gguf::llama3_scaling(file, {1, 3, 1, 8}, theta); }), Contains("no scaling of Llama 3"));
}

}  // namespace roll
