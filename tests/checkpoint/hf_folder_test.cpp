#include "checkpoint/hf_folder.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/save_folder.h"
#include "checkpoint/temporary_folder.h"

namespace roll {

using Catch::Contains;
using test::message_of;
using test::save_folder;
using test::TemporaryFolder;
namespace fs = std::filesystem;

namespace {

const Json kConfig = {{"model_type", "x"}, {"dtype", "float64"}, {"unknown_key", {1, 2}}};

NamedTensors some_tensors() {
  return {{"a", at::arange(10, at::kFloat)}, {"b", at::ones({100})}, {"c", at::full({3, 3}, 0.1f)}};
}

}  // namespace

TEST_CASE("an HF folder gives back config, tensors and companions", "[checkpoint]") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "source/additional_chat_templates");
  folder.write("source/additional_chat_templates/tool_use.jinja", "{{ tools }}");
  folder.write("source/tokenizer.json", "{}");
  folder.write("source/generation_config.json", "{}");
  folder.write("source/model.safetensors", "not copied");
  save_folder(folder / "model", kConfig, some_tensors(), {}, read_companions(folder / "source"));
  const HfFolder opened = HfFolder::open(folder / "model");
  CHECK(opened.config()["torch_dtype"] == "float32");
  CHECK_FALSE(opened.config().contains("dtype"));
  CHECK(opened.config()["unknown_key"] == Json({1, 2}));
  for (const auto& [name, tensor] : some_tensors()) CHECK(at::equal(opened.read(name), tensor));
  CHECK(fs::exists(folder / "model/tokenizer.json"));
  CHECK(fs::exists(folder / "model/generation_config.json"));
  CHECK(fs::exists(folder / "model/additional_chat_templates/tool_use.jinja"));
  CHECK(opened.find("d") == nullptr);
}

TEST_CASE("weights beyond the shard size go to an index and several files", "[checkpoint]") {
  const TemporaryFolder folder;
  HfSaveOptions options;
  options.max_shard_bytes = 100;
  save_folder(folder / "model", kConfig, some_tensors(), options);
  CHECK(fs::exists(folder / "model/model-00001-of-00003.safetensors"));
  CHECK_FALSE(fs::exists(folder / "model/model.safetensors"));
  const Json index = read_json(folder / "model/model.safetensors.index.json");
  CHECK(index["metadata"]["total_size"] == 40 + 400 + 36);
  CHECK(index["weight_map"]["b"] == "model-00002-of-00003.safetensors");
  const HfFolder opened = HfFolder::open(folder / "model");
  for (const auto& [name, tensor] : some_tensors()) CHECK(at::equal(opened.read(name), tensor));
  options.max_shard_bytes = 40 + 400;  // what fits exactly stays together
  save_folder(folder / "two", kConfig, some_tensors(), options);
  CHECK(read_json(folder / "two/model.safetensors.index.json")["weight_map"]["b"] ==
        "model-00001-of-00002.safetensors");
}

TEST_CASE("weights are converted when saved", "[checkpoint]") {
  const TemporaryFolder folder;
  HfSaveOptions options;
  options.dtype = at::kBFloat16;
  save_folder(folder / "model", kConfig, some_tensors(), options);
  const HfFolder opened = HfFolder::open(folder / "model");
  CHECK(opened.config()["torch_dtype"] == "bfloat16");
  CHECK(at::equal(opened.read("c"), at::full({3, 3}, 0.1f).to(at::kBFloat16)));
}

TEST_CASE("a save that fails leaves the older folder whole", "[checkpoint]") {
  const TemporaryFolder folder;
  save_folder(folder / "model", kConfig, some_tensors(), {});
  const NamedTensors twice{{"z", at::ones({1})}, {"z", at::ones({1})}};
  CHECK(message_of([&] { save_folder(folder / "model", kConfig, twice, {}); }) != "no exception");
  CHECK(HfFolder::open(folder / "model").find("a") != nullptr);
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("a wrong model folder is refused with what is missing", "[checkpoint]") {
  const TemporaryFolder folder;
  const auto opening = [&](const fs::path& path) { return message_of([&] { HfFolder::open(path); }); };
  CHECK_THAT(opening(folder / "none"), Contains("there is no such folder; give a model's folder"));
  CHECK_THAT(opening(folder.write("file", "x")), Contains("is a file; give a model folder"));
  CHECK_THAT(opening(folder.path()), Contains("no config.json"));
  folder.write("config.json", "[]");
  CHECK_THAT(opening(folder.path()), Contains("config.json: array where a JSON object is needed"));
  folder.write("config.json", "{");
  CHECK_THAT(opening(folder.path()), Contains("config.json: not valid JSON"));
  folder.write("config.json", "{}");
  CHECK_THAT(opening(folder.path()), Contains("neither model.safetensors nor"));
  folder.write("pytorch_model.bin", "");
  CHECK_THAT(opening(folder.path()), Contains("pickled weights"));
}

namespace {

/// A folder whose shards hold some of the same tensors, with this index.
void write_shards(const TemporaryFolder& folder, const std::string& index) {
  folder.write("config.json", "{}");
  write_safetensors(folder / "one.safetensors", {{"a", at::full({1}, 1.f)}, {"b", at::full({1}, 1.f)}});
  write_safetensors(folder / "two.safetensors", {{"b", at::full({1}, 2.f)}, {"c", at::full({1}, 2.f)}});
  folder.write("model.safetensors.index.json", index);
}

}  // namespace

TEST_CASE("an index that is none, or names files that are not there, is refused", "[checkpoint]") {
  const TemporaryFolder folder;
  const auto with_index = [&](const std::string& text) {
    write_shards(folder, text);
    return message_of([&] { HfFolder::open(folder.path()); });
  };
  CHECK_THAT(with_index("{}"), Contains("weight_map: an object"));
  CHECK_THAT(with_index(R"({"weight_map":{}})"), Contains("weight_map: an object"));
  CHECK_THAT(with_index(R"({"weight_map":{"a":3}})"), Contains("must be the name of a file"));
  CHECK_THAT(with_index(R"({"weight_map":{"a":"../one.safetensors"}})"), Contains("must be the name of a file"));
  CHECK_THAT(with_index(R"({"weight_map":{"a":"none.safetensors"}})"), Contains("none.safetensors: no such file"));
}

TEST_CASE("of shards that hold a tensor twice the last one counts, whatever the index says, and a note says so",
          "[checkpoint]") {
  const TemporaryFolder folder;
  write_shards(folder, R"({"weight_map":{"a":"one.safetensors","b":"one.safetensors","c":"two.safetensors"}})");
  const HfFolder opened = HfFolder::open(folder.path());
  CHECK(opened.read("b").item<float>() == 2);
  CHECK(opened.tensor_file("b") == (folder / "two.safetensors").string());
  CHECK(opened.entries().size() == 3);
  REQUIRE(opened.notes().size() == 2);
  CHECK_THAT(opened.notes()[0], Contains("b: is in one.safetensors, too; roll reads the copy in two.safetensors"));
  CHECK_THAT(opened.notes()[1], Contains("b: is not in the file that the index names"));
}

TEST_CASE("tensors that only the index or only a shard has are left out, or read if a model has them", "[checkpoint]") {
  const TemporaryFolder folder;
  write_shards(folder, R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors","head":"two.safetensors"}})");
  const HfFolder opened = HfFolder::open(folder.path());
  CHECK(opened.find("head") == nullptr);
  CHECK(opened.read("c").item<float>() == 2);
  CHECK((opened.is_unindexed("c") && !opened.is_unindexed("a")));
  REQUIRE(opened.notes().size() == 3);
  CHECK_THAT(opened.notes()[1], Contains("weight_map: head: is in no file; roll leaves it out"));
  CHECK_THAT(opened.notes()[2], Contains("c: is in a file but not in the index"));
}

TEST_CASE("a single file wins over shards and their index, and a note names what is not read", "[checkpoint]") {
  const TemporaryFolder folder;
  write_shards(folder, R"({"weight_map":{"a":"none.safetensors"}})");
  write_safetensors(folder / "model.safetensors", {{"a", at::full({1}, 3.f)}});
  write_safetensors(folder / "model-00001-of-00001.safetensors", {{"a", at::full({1}, 4.f)}});
  const HfFolder opened = HfFolder::open(folder.path());
  CHECK(opened.read("a").item<float>() == 3);
  CHECK(opened.find("b") == nullptr);
  REQUIRE(opened.notes().size() == 1);
  CHECK_THAT(opened.notes()[0], Contains("roll reads model.safetensors") && Contains("ignores model-00001-of-00001") &&
                                    Contains("model.safetensors.index.json"));
}

TEST_CASE("a tensor is read under another name as well, and a note says so", "[checkpoint]") {
  const TemporaryFolder folder;
  save_folder(folder / "model", kConfig, some_tensors(), {});
  HfFolder opened = HfFolder::open(folder / "model");
  CHECK(opened.notes().empty());
  opened.read_as("other", "c");
  CHECK(at::equal(opened.read("other"), opened.read("c")));
  CHECK((opened.find("other") == opened.find("c") && opened.tensor_file("other") == opened.tensor_file("c")));
  CHECK_THAT(opened.notes().at(0), Contains("has no other; roll reads c instead"));
}

TEST_CASE("tensors get other prefixes, unless they have them already", "[checkpoint]") {
  const TemporaryFolder folder;
  const NamedTensors tensors = {{"text.a", at::ones({2})}, {"all.text.b", at::zeros({2})}, {"c", at::ones({3})}};
  const std::vector<NamePrefix> prefixes = {{"text.", "all.text."}};
  save_folder(folder / "model", kConfig, tensors, {});
  HfFolder opened = HfFolder::open(folder / "model");
  CHECK_FALSE(opened.is_renamed());
  opened.rename(prefixes);
  CHECK(opened.is_renamed());
  CHECK(opened.find("text.a") == nullptr);
  CHECK(at::equal(opened.read("all.text.a"), tensors[0].second));
  CHECK(at::equal(opened.read("all.text.b"), tensors[1].second));
  CHECK(opened.find("c") != nullptr);
  CHECK(folder_name(prefixes, "all.text.a") == "text.a");
  CHECK(folder_name(prefixes, "c") == "c");
  save_folder(folder / "twice", kConfig, {{"text.a", at::ones({2})}, {"all.text.a", at::ones({2})}}, {});
  CHECK_THAT(message_of([&] { HfFolder::open(folder / "twice").rename(prefixes); }),
             Contains("text.a: the folder holds this tensor twice, also as all.text.a; remove one"));
}

}  // namespace roll
