// Text that grows, and text behind other text: where SentencePiece's tokenizers differ from byte-level ones.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "error_of.h"
#include "rollout/growing_text.h"
#include "text/json_view.h"
#include "text/tokenizer.h"

namespace roll {
namespace {

FileJson golden_tokenizers() {
  const std::string file = ROLL_SOURCE_DIR "/tests/golden/text/tokenizers.json";
  return parse_file_json(read_file(file), file)["cases"];
}

Tokenizer golden_tokenizer(const std::string& name) {
  FileJson json;
  for (const FileJson& one : golden_tokenizers())
    if (one["name"] == name) json = one["tokenizer"];
  return Tokenizer::parse(json.dump(), "tokenizer.json");
}

/// What is shown of a text whose tokens come one by one.
std::string grown(const Tokenizer& tokenizer, const std::vector<int64_t>& ids) {
  const DecodeText decode = [&](std::span<const int64_t> some, bool skip) {
    return tokenizer.decode(some, skip, /*more_follows=*/true);
  };
  GrowingText growing;
  std::string shown;
  for (size_t i = 1; i <= ids.size(); ++i) {
    const std::string& now = growing.grow({ids.data(), i}, false, decode);
    CHECK(now.starts_with(shown));
    shown = now;
  }
  return shown;
}

TEST_CASE("what is shown of a text while its tokens come begins the text that HF decodes", "[text]") {
  for (const FileJson& one : golden_tokenizers()) {
    const Tokenizer tokenizer = Tokenizer::parse(one["tokenizer"].dump(), "tokenizer.json");
    CAPTURE(one["name"].get<std::string>());
    for (const FileJson& text : one["cases"]) {
      const auto decoded = text["decoded"].get<std::string>();
      const std::string shown = grown(tokenizer, text["ids"].get<std::vector<int64_t>>());
      CAPTURE(decoded, shown);
      CHECK(decoded.starts_with(shown));
    }
    for (const FileJson& piece : one["pieces"])
      CHECK(tokenizer.decode(piece["ids"].get<std::vector<int64_t>>())
                .starts_with(grown(tokenizer, piece["ids"].get<std::vector<int64_t>>())));
  }
}

TEST_CASE("bytes of tokens are shown once they can no longer change, and known one by one", "[text]") {
  const Tokenizer tokenizer = golden_tokenizer("llama2");
  const auto byte = [&](unsigned char value) { return *tokenizer.find_id(fmt::format("<0x{:02X}>", value)); };
  const int64_t a = *tokenizer.find_id("a"), space_a = *tokenizer.find_id("\u2581a");
  const std::vector<int64_t> character{byte(0xE4), byte(0xBD), byte(0xA0)};
  CHECK(grown(tokenizer, character).empty());  // a fourth byte would make U+FFFD of all
  CHECK(grown(tokenizer, {byte(0xE4), byte(0xBD), byte(0xA0), a}) ==
        "\u4F60"
        "a");
  CHECK(grown(tokenizer, {byte(0xE4), byte(0xBD), byte(0xA0), byte(0xFF), a}) ==
        "\uFFFD\uFFFD\uFFFD\uFFFD"
        "a");
  CHECK(tokenizer.decode(character) == "\u4F60");
  CHECK(tokenizer.decode(character, false, /*more_follows=*/true) == "\uFFFD");
  CHECK(tokenizer.token_bytes(byte(0xE4)) == "\xE4");
  CHECK(tokenizer.token_bytes(space_a) == " a");
  CHECK(tokenizer.decode(std::vector<int64_t>{space_a, space_a}) == "a a");
  CHECK(tokenizer.token_bytes(1 << 20).empty());
  CHECK(golden_tokenizer("metaspace").token_bytes(*golden_tokenizer("metaspace").find_id("\u2581a")) == " a");
  const int64_t skipped = *tokenizer.find_id("<s>");
  const DecodeText decode = [&](std::span<const int64_t> some, bool skip) {
    return tokenizer.decode(some, skip, true);
  };
  for (const auto& ids :
       {std::vector{skipped, space_a, space_a}, std::vector{space_a, skipped, space_a, skipped, skipped}}) {
    GrowingText growing;
    for (size_t i = 1; i <= ids.size(); ++i) growing.grow({ids.data(), i}, true, decode);
    CHECK(growing.text() == "a a");
  }
}

TEST_CASE("a text behind others begins as it does in the whole", "[text]") {
  for (const auto& [name, before, text] : std::vector<std::array<std::string, 3>>{{"llama2", "The quick", " brown fox"},
                                                                                  {"llama2", "a</s>", "b c"},
                                                                                  {"phi3", "x<|im_start|>\n", "a b"},
                                                                                  {"phi3", "x<|im_start|>", "\n a"},
                                                                                  {"mistral3", "a[/INST]", "b c"},
                                                                                  {"mistral3", "the a", " b"},
                                                                                  {"mistral3", "", "the b"},
                                                                                  {"gemma", "the<end_of_turn>a", " b"},
                                                                                  {"gpt2", "the quick", " brown"},
                                                                                  {"gpt2", "x<|endoftext|>", "brown"},
                                                                                  {"qwen2", "the", " brown"}}) {
    CAPTURE(name, before, text);
    const Tokenizer tokenizer = golden_tokenizer(name);
    std::vector<int64_t> ids = tokenizer.encode(before, true, false);
    const std::vector<int64_t> more = tokenizer.encode_behind(ids, text);
    ids.insert(ids.end(), more.begin(), more.end());
    CHECK(tokenizer.decode(ids) == tokenizer.decode(tokenizer.encode(before + text, true, false)));
    CHECK(ids == tokenizer.encode(before + text, true, false));
  }
}

/// The error for a tokenizer whose section is this one.
std::string error_of_section(const char* section, const FileJson& value) {
  FileJson json = golden_tokenizers()[0]["tokenizer"];
  json[section] = value;
  return testing::error_of([&] { Tokenizer::parse(json.dump(), "tokenizer.json"); });
}

TEST_CASE("parts of a SentencePiece tokenizer that mean nothing here are named", "[text]") {
  using Catch::Contains;
  const auto metaspace = [](const FileJson& more) {
    FileJson json{{"type", "Metaspace"}, {"replacement", "\u2581"}};
    json.update(more);
    return error_of_section("pre_tokenizer", json);
  };
  CHECK_THAT(metaspace({{"replacement", "ab"}}), Contains("must be one character"));
  CHECK_THAT(metaspace({{"prepend_scheme", "last"}}), Contains("must be always, first or never"));
  CHECK_THAT(metaspace({{"add_prefix_space", false}, {"prepend_scheme", "first"}}),
             Contains("must be never, because add_prefix_space is false"));
  const auto decoders = [](const std::string& list) {
    return error_of_section("decoder", FileJson::parse(R"({"type": "Sequence", "decoders": [)" + list + "]}"));
  };
  const std::string fuse = R"({"type": "Fuse"}, )";
  CHECK_THAT(decoders(R"({"type": "Strip", "content": " ", "start": 1, "stop": 1})"), Contains("stop = 1: must be 0"));
  CHECK_THAT(decoders(R"({"type": "Strip", "content": "", "start": 1, "stop": 0})"), Contains("must be one character"));
  CHECK_THAT(decoders(fuse + R"({"type": "Replace", "pattern": {"String": "ab"}, "content": ""})"),
             Contains("must be one character after Fuse"));
  CHECK_THAT(decoders(fuse + R"({"type": "ByteLevel"})"), Contains("unsupported decoder"));
}

}  // namespace
}  // namespace roll
