#include "train/prompts.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

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
  const int64_t bos = tokenizer.id_of(kBos).value();
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

}  // namespace roll
