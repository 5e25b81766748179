#include "train/prompts.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "checkpoint/temporary_folder.h"
#include "text/tiny_tokenizer.h"

namespace roll {

namespace {

constexpr const char* kBos = "<bos>";

/// As Llama's: the tokenizer puts a token before every text, and so does the chat template.
void write_tokenizer(const test::TemporaryFolder& folder) {
  TinyTokenizerSpec spec;
  spec.more_special_tokens = {kBos};
  Json tokenizer = make_byte_level_tokenizer(spec);
  int64_t id = -1;
  for (const Json& token : tokenizer["added_tokens"])
    if (token["content"] == kBos) id = token["id"];
  tokenizer["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {{{"SpecialToken", {{"id", kBos}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
      {"pair", Json::array()},
      {"special_tokens", {{kBos, {{"id", kBos}, {"ids", {id}}, {"tokens", {kBos}}}}}}};
  folder.write("tokenizer.json", tokenizer.dump());
  folder.write("tokenizer_config.json",
               Json{{"bos_token", kBos},
                    {"eos_token", "<|im_end|>"},
                    {"chat_template", "{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}"}}
                   .dump());
}

}  // namespace

TEST_CASE("a prompt begins with one special token, whether the tokenizer or the template writes it", "[train]") {
  const test::TemporaryFolder folder;
  write_tokenizer(folder);
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  const int64_t bos = tokenizer.find_id(kBos).value();
  PromptSource source{.model_folder = folder.path()};
  source.data.messages = "messages";
  const PromptEncoder encode(source, tokenizer);
  Row chat, raw;
  chat.messages = Json{{{"role", "user"}, {"content", "1+1="}}};
  raw.prompt = "1+1=";
  const auto from_template = encode(chat), from_tokenizer = encode(raw);
  CHECK(from_template == from_tokenizer);
  CHECK(from_template.front() == bos);
  CHECK(std::count(from_template.begin(), from_template.end(), bos) == 1);
}

TEST_CASE("rows whose difficulty is off the declared range are told of", "[train]") {
  const test::TemporaryFolder folder;
  write_tokenizer(folder);
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  std::string rows;
  for (const int difficulty : {3, 9, 5})
    rows += fmt::format("{{\"prompt\": \"1+1=\", \"difficulty\": {}}}\n", difficulty);
  folder.write("rows.jsonl", rows);
  Config config;
  config.actor_train.data_args.file_name = {(folder.path() / "rows.jsonl").string()};
  config.actor_train.data_args.prompt = "prompt";
  const auto told = [&] {
    std::ostringstream out, err;
    Log log(out, err, {});
    open_training_prompts(config, folder.path(), tokenizer, log);
    return err.str();
  };
  CHECK(told().empty());
  config.loss.difficulty_loss_weight = true;
  CHECK_THAT(told(),
             Catch::Contains("3 of 3 training prompts") && Catch::Contains("[0, 1]") && Catch::Contains("3..9"));
  config.loss.difficulty_range = {3, 8};
  CHECK_THAT(told(), Catch::Contains("1 of 3 training prompts"));
  config.loss.difficulty_range = {3, 9};
  CHECK(told().empty());
}

}  // namespace roll
