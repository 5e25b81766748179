#include "text/tokenizer.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "text/json_view.h"
#include "text/tiny_tokenizer.h"

namespace roll {
namespace {

namespace fs = std::filesystem;

FileJson golden() {
  const std::string file = ROLL_SOURCE_DIR "/tests/golden/text/tokenizers.json";
  return parse_file_json(read_file(file), file)["cases"];
}

Tokenizer tokenizer_of(const FileJson& json) {
  return Tokenizer::parse(json.dump(), "tokenizer.json");
}

using Ids = std::vector<int64_t>;

TEST_CASE("ids and decoded text equal those of HF tokenizers", "[text]") {
  for (const FileJson& one : golden()) {
    const Tokenizer tokenizer = tokenizer_of(one["tokenizer"]);
    CAPTURE(one["name"].get<std::string>());
    for (const FileJson& text : one["cases"]) {
      CAPTURE(text["text"].get<std::string>());
      const Ids ids = tokenizer.encode(text["text"].get<std::string>());
      CHECK(ids == text["ids"].get<Ids>());
      CHECK(tokenizer.encode(text["text"].get<std::string>(), true, false) == text["plain"].get<Ids>());
      CHECK(tokenizer.decode(ids) == text["decoded"].get<std::string>());
      CHECK(tokenizer.decode(ids, true) == text["skipped"].get<std::string>());
    }
    for (const FileJson& piece : one["pieces"])
      CHECK(tokenizer.decode(piece["ids"].get<Ids>(), true) == piece["decoded"].get<std::string>());
  }
}

TEST_CASE("a tokenizer encodes the same from several threads, and with a warm cache", "[text]") {
  const FileJson one = golden()[0];
  const Tokenizer tokenizer = tokenizer_of(one["tokenizer"]);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& count : wrong)
    threads.emplace_back([&] {
      for (int round = 0; round < 3; ++round)
        for (const FileJson& text : one["cases"])
          count += tokenizer.encode(text["text"].get<std::string>()) != text["ids"].get<Ids>();
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4));
}

TEST_CASE("long and short words merge alike", "[text]") {
  TinyTokenizerSpec spec;
  spec.words = {"ab", "abab", "ba", "aaa", "bb", "babb"};
  const Tokenizer tokenizer = Tokenizer::parse(make_byte_level_tokenizer(spec).dump(), "tiny");
  // One long word against the merges applied one by one, in order of rank, over the whole of it.
  const FileJson merges = FileJson::parse(make_byte_level_tokenizer(spec).dump())["model"]["merges"];
  for (uint32_t draw = 0; draw < 200; ++draw) {
    const size_t length = 1 + draw;
    std::string word;
    for (uint32_t i = 0; i < length; ++i)
      word += random_uniform({.seed = 3, .step = draw, .position = i}) < 0.6 ? 'a' : 'b';
    std::vector<std::string> parts;
    for (const char c : word) parts.emplace_back(1, c);
    for (bool joined = true; joined;) {
      joined = false;
      for (size_t m = 0; m < merges.size() && !joined; ++m)
        for (size_t i = 0; i + 1 < parts.size() && !joined; ++i)
          if (parts[i] == merges[m][0] && parts[i + 1] == merges[m][1]) {
            parts[i] += parts[i + 1];
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
            joined = true;
          }
    }
    Ids ids;
    for (const std::string& part : parts) ids.push_back(*tokenizer.find_id(part));
    CHECK(tokenizer.encode(word) == ids);
  }
}

/// A byte-level tokenizer of these tokens (their ids in order) that splits nothing.
FileJson small_tokenizer(const std::vector<std::string>& vocabulary, const FileJson& merges) {
  FileJson vocab = FileJson::object();
  for (const std::string& token : vocabulary) vocab[token] = vocab.size();
  const FileJson bytes = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  return {{"version", "1.0"},
          {"added_tokens", FileJson::array()},
          {"pre_tokenizer", bytes},
          {"decoder", bytes},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
}

FileJson added(int64_t id, const std::string& content, bool special) {
  return {{"id", id}, {"content", content}, {"special", special}, {"normalized", true}};
}

// The ids of the following cases are what HF's tokenizers gives.
TEST_CASE("odd merges and unknown bytes mean what they mean to HF", "[text]") {
  const FileJson twice = FileJson::parse(R"([["a", "b"], ["b", "c"], ["a", "b"]])");
  CHECK(tokenizer_of(small_tokenizer({"a", "b", "c", "ab", "bc"}, twice)).encode("abc") == Ids{0, 4});
  const FileJson old = FileJson::parse(R"(["#version: 0.2", "a b"])");
  CHECK(tokenizer_of(small_tokenizer({"a", "b", "ab"}, old)).encode("ab") == Ids{2});
  FileJson unknown = small_tokenizer({"a", "?"}, FileJson::array());
  unknown["model"]["unk_token"] = "?";
  CHECK(tokenizer_of(unknown).encode("azza") == Ids{0, 1, 1, 0});
  unknown["model"]["fuse_unk"] = true;
  CHECK(tokenizer_of(unknown).encode("azza") == Ids{0, 1, 0});
  // Merges of a character with what stands for another: a byte of it, or the unknown token.
  const auto of_characters = [](const std::vector<std::string>& vocabulary, const FileJson& merges, const char* more) {
    FileJson json = small_tokenizer(vocabulary, merges);
    for (const char* section : {"pre_tokenizer", "decoder"}) json.erase(section);
    json["model"].update(FileJson::parse(more));
    return tokenizer_of(json);
  };
  const FileJson of_byte = FileJson::parse(R"([["<0xA9>", "d"]])"), of_unknown = FileJson::parse(R"([["?", "d"]])");
  CHECK(of_characters({"<0xC3>", "<0xA9>", "d", "<0xA9>d"}, of_byte, R"({"byte_fallback": true})").encode("éd") ==
        Ids{0, 3});
  CHECK(of_characters({"?", "d", "?d"}, of_unknown, R"({"unk_token": "?"})").encode("dxd") == Ids{1, 2});
}

TEST_CASE("a disarmed text spells no special token, and loses no character", "[text]") {
  FileJson json = small_tokenizer({"a", "b", "<", ">", "é", "Ġ"}, FileJson::array());
  json["added_tokens"] = {added(6, "<a>", true), added(7, "é<", true), added(8, "<b>", false)};
  const Tokenizer tokenizer = tokenizer_of(json);
  CHECK(tokenizer.disarmed("a<a><a>b") == "a< a>< a>b");
  CHECK(tokenizer.disarmed("é<<b>") == "é <<b>");
  CHECK(tokenizer.disarmed("<<a>a>") == "<< a>a>");
  CHECK(tokenizer.disarmed("<a ><aa>") == "<a ><aa>");
}

TEST_CASE("of added tokens the longest is found, after normalization, and a special one wins", "[text]") {
  FileJson json = small_tokenizer({"a", "b"}, FileJson::array());
  json["normalizer"] = {{"type", "Lowercase"}};
  json["added_tokens"] = {added(2, "AB", false)};
  CHECK(tokenizer_of(json).encode("abaB") == Ids{2, 2});
  json["added_tokens"][0].erase("normalized");  // then only special tokens are found as they are written
  CHECK(tokenizer_of(json).encode("abaB") == Ids{2, 2});
  json["added_tokens"] = {added(2, "AB", false), added(3, "Ab", true)};
  CHECK(tokenizer_of(json).encode("ab") == Ids{3});
  json["added_tokens"] = {added(2, "ab", false), added(3, "aba", false)};
  CHECK(tokenizer_of(json).encode("abab") == Ids{3, 1});
}

TEST_CASE("tokens around a text, and texts without a decoder, are as HF has them", "[text]") {
  FileJson json = small_tokenizer({"a", "b"}, FileJson::array());
  json["decoder"] = nullptr;
  CHECK(tokenizer_of(json).decode(Ids{0, 1}) == "a b");
  json["post_processor"] = FileJson::parse(R"({"type": "TemplateProcessing", "pair": [],
    "single": [{"SpecialToken": {"id": "a", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
               {"SpecialToken": {"id": "b", "type_id": 0}}],
    "special_tokens": {"a": {"id": "a", "ids": [0], "tokens": ["a"]}, "b": {"id": "b", "ids": [1], "tokens": ["b"]}}})");
  CHECK(tokenizer_of(json).encode("bb") == Ids{0, 1, 1, 1});
  CHECK(tokenizer_of(json).encode("bb", true, false) == Ids{1, 1});
}

TEST_CASE("parts that nest too deeply or that a decoder does not know are refused", "[text]") {
  FileJson json = small_tokenizer({"a", "b"}, FileJson::array());
  FileJson deep = {{"type", "NFC"}};
  for (int i = 0; i < 50; ++i) deep = {{"type", "Sequence"}, {"normalizers", FileJson::array({deep})}};
  json["normalizer"] = deep;
  CHECK_THROWS_WITH(tokenizer_of(json), Catch::Contains("nested too deeply"));
  json["normalizer"] = nullptr;
  json["decoder"] = FileJson::parse(R"({"type": "Sequence", "decoders": [{"type": "ByteLevel"}, {"type": "Strip"}]})");
  CHECK_THROWS_WITH(tokenizer_of(json), Catch::Contains("unsupported decoder"));
}

TEST_CASE("replacements that let a text grow without end are refused", "[text]") {
  FileJson json = small_tokenizer({"a", "b"}, FileJson::array());
  const auto replace = [](const std::string& old, const std::string& by) {
    return FileJson{{"type", "Replace"}, {"pattern", {{"String", old}}}, {"content", by}};
  };
  const auto set = [&](size_t steps, const FileJson& step) {
    json["normalizer"] = {{"type", "Sequence"}, {"normalizers", FileJson(steps, step)}};
  };
  const std::string text(1000, 'a');
  set(4, replace("a", "aa"));
  CHECK(tokenizer_of(json).encode(text).size() == 16000);
  set(40, replace("a", "aa"));
  CHECK_THROWS_WITH(tokenizer_of(json).encode(text),
                    Catch::Contains("tokenizer.json: normalizer: makes more than 81536 bytes from a text of 1000"));
  set(1, replace("a", std::string(1'000'000, 'a')));
  CHECK_THROWS_WITH(tokenizer_of(json).encode(std::string(100'000, 'a')), Catch::Contains("makes more than"));
  set(65, replace("a", "a"));
  CHECK_THROWS_WITH(tokenizer_of(json), Catch::Contains("normalizer: 65 steps; at most 64 are supported"));
  json["normalizer"] = nullptr;
  const FileJson digits = {{"type", "Digits"}};
  FileJson steps(70, digits);
  steps.push_back({{"type", "ByteLevel"}});
  json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", steps}};
  CHECK_THROWS_WITH(tokenizer_of(json), Catch::Contains("steps; at most 64 are supported"));
}

TEST_CASE("short files that stand for much are refused", "[text]") {
  const auto refuses = [](const std::string& section, const FileJson& value, const std::string& what) {
    FileJson json = small_tokenizer({"a", "b"}, FileJson::array());
    json[section] = value;
    CHECK_THROWS_WITH(tokenizer_of(json), Catch::Contains(what));
  };
  const FileJson piece = {{"SpecialToken", {{"id", "a"}, {"type_id", 0}}}};
  FileJson single(1000, piece);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  refuses("post_processor",
          {{"type", "TemplateProcessing"},
           {"single", single},
           {"special_tokens", {{"a", {{"id", "a"}, {"ids", FileJson(1000, 0)}}}}}},
          "more than 1000 tokens on a side");
  const auto split = [](const std::string& regex) {
    return FileJson{{"type", "Sequence"},
                    {"pretokenizers",
                     {{{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}},
                      {{"type", "ByteLevel"}, {"use_regex", false}}}}};
  };
  std::string words;
  while (words.size() < 9'000) words += "\\w";
  refuses("pre_tokenizer", split(words), "too many \\w");
  refuses("pre_tokenizer", split(std::string(20'000, 'a')), "the regular expression has 20000 bytes");
  refuses("added_tokens", {{{"id", 2}, {"content", std::string(2000, 'a')}}}, "a token has at most 1000 bytes");
  FileJson json = small_tokenizer({"a", "b"}, FileJson::array());
  json["model"]["vocab"]["c"] = kMaxTokenId + 1;
  CHECK_THROWS_WITH(tokenizer_of(json), Catch::Contains("must be a token id"));
}

TEST_CASE("text that is not UTF-8 is refused with the byte that breaks it", "[text]") {
  const Tokenizer tokenizer = Tokenizer::parse(make_byte_level_tokenizer({}).dump(), "tiny");
  CHECK_THROWS_WITH(tokenizer.encode("abc\xff"), Catch::Contains("byte 3 of 4 is not UTF-8"));
  CHECK(tokenizer.decode(Ids{0xC3, -1, 99999, 0x28}) == "\uFFFD(");
}

fs::path tokenizer_folder(const std::vector<std::pair<std::string, std::string>>& files) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("roll_test_tokenizer_{}", ::getpid());
  fs::remove_all(folder);
  fs::create_directories(folder);
  write_tiny_tokenizer(folder, {});
  for (const auto& [name, content] : files) write_file_atomic(folder / name, content);
  return folder;
}

TEST_CASE("end tokens come from the files beside tokenizer.json", "[text]") {
  const Tokenizer tiny = Tokenizer::load(tokenizer_folder({}));
  CHECK(tiny.eos_ids() == Ids{258, 256});
  CHECK(tiny.vocab_size() == 259);

  const Tokenizer one_eos =
      Tokenizer::load(tokenizer_folder({{"generation_config.json", R"({"eos_token_id": 7})"},
                                        {"tokenizer_config.json", "{}"},
                                        {"config.json", R"({"eos_token_id": 9})"},
                                        {"special_tokens_map.json", R"({"eos_token": "<|endoftext|>"})"}}));
  CHECK(one_eos.eos_ids() == Ids{7, 256});

  const Tokenizer from_config = Tokenizer::load(tokenizer_folder({{"generation_config.json", "{}"},
                                                                  {"tokenizer_config.json", "{}"},
                                                                  {"config.json", R"({"eos_token_id": [9, 9]})"}}));
  CHECK(from_config.eos_ids() == Ids{9});

  const Tokenizer named =
      Tokenizer::load(tokenizer_folder({{"tokenizer_config.json", R"({"eos_token": {"content": "<|im_start|>"}})"}}));
  CHECK(named.eos_ids().back() == 257);
}

TEST_CASE("tokens that only tokenizer_config.json lists are tokens", "[text]") {
  const Tokenizer tokenizer = Tokenizer::load(tokenizer_folder(
      {{"tokenizer_config.json",
        R"({"added_tokens_decoder": {"259": {"content": "<extra>", "special": true}, "256": {"content": "<|endoftext|>"}}})"}}));
  CHECK(tokenizer.encode("a<extra>b") == Ids{97, 259, 98});
  CHECK(tokenizer.decode(Ids{97, 259}, true) == "a");
}

std::string load_error(const std::vector<std::pair<std::string, std::string>>& files) {
  try {
    Tokenizer::load(tokenizer_folder(files));
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST_CASE("files beside tokenizer.json with mistakes are named", "[text]") {
  CHECK_THAT(
      load_error({{"generation_config.json", R"({"eos_token_id": "x"})"}}),
      Catch::EndsWith("generation_config.json: eos_token_id = \"x\": must be a token id: an integer of 0 to 4194303"));
  const std::string wrong_end = R"({"eos_token": "<nope>"})";
  CHECK_THAT(load_error({{"tokenizer_config.json", wrong_end}}),
             Catch::Contains("tokenizer_config.json: eos_token = \"<nope>\": must be a token of tokenizer.json"));
  CHECK_THAT(load_error({{"tokenizer_config.json", "{}"}, {"special_tokens_map.json", wrong_end}}),
             Catch::Contains("special_tokens_map.json: eos_token = \"<nope>\": must be a token"));
  CHECK_THAT(load_error({{"tokenizer_config.json", "{\n  x"}}), Catch::Contains("not valid JSON at line 2, column 3"));
  CHECK_THAT(load_error({{"tokenizer_config.json", "[]"}}), Catch::Contains("must be a JSON object"));
  CHECK_THAT(load_error({{"tokenizer_config.json", R"({"added_tokens_decoder": {"999": {"content": "<extra>"}}})"}}),
             Catch::Contains("'<extra>' has id 999"));
  CHECK_THAT(load_error({{"tokenizer.json", ""}}),
             Catch::Contains("tokenizer.json: not valid JSON at line 1, column 1"));
}

/// The error for a tiny tokenizer.json in which one value was replaced.
std::string changed(const std::string& pointer, const FileJson& value) {
  FileJson json = FileJson::parse(make_byte_level_tokenizer({}).dump());
  json[FileJson::json_pointer(pointer)] = value;
  try {
    tokenizer_of(json);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST_CASE("what a tokenizer.json holds beyond our support is named, with what is supported", "[text]") {
  CHECK(changed("/model/type", "Unigram") ==
        "tokenizer.json: model.type = \"Unigram\": unsupported model; supported: BPE, byte-level or with byte_fallback "
        "(as in SentencePiece)");
  CHECK_THAT(changed("/normalizer/type", "BertNormalizer"),
             Catch::StartsWith("tokenizer.json: normalizer.type = \"BertNormalizer\": unsupported") &&
                 Catch::Contains("supported: NFC, NFD"));
  CHECK_THAT(changed("/pre_tokenizer/pretokenizers/0/type", "Punctuation"),
             Catch::Contains("pre_tokenizer.pretokenizers[0].type = \"Punctuation\""));
  CHECK_THAT(changed("/pre_tokenizer/pretokenizers/0/behavior", "Sideways"), Catch::Contains("must be Isolated"));
  CHECK_THAT(changed("/pre_tokenizer/pretokenizers/0/type", "ByteLevel"), Catch::Contains("follows ByteLevel"));
  CHECK_THAT(changed("/post_processor/type", "BertProcessing"), Catch::Contains("unsupported post-processor"));
  CHECK_THAT(changed("/decoder/type", "WordPiece"), Catch::Contains("unsupported decoder"));
  CHECK_THAT(changed("/model/dropout", 0.1), Catch::Contains("model.dropout = 0.1: must be null"));
  CHECK_THAT(changed("/model/end_of_word_suffix", "</w>"), Catch::Contains("must be empty"));
  CHECK_THAT(changed("/model/merges", FileJson::parse(R"([["a", "b"]])")),
             Catch::Contains("model.merges[0]") && Catch::Contains("'ab' is not in model.vocab"));
  CHECK_THAT(changed("/model/merges", FileJson::parse(R"(["a b c"])")), Catch::Contains("two tokens with one space"));
  CHECK_THAT(changed("/model/vocab/a", 98), Catch::Contains("has this id too"));
  CHECK_THAT(changed("/model/vocab/a", -1), Catch::Contains("must be a token id"));
  CHECK_THAT(changed("/model/vocab/a", 4294967296), Catch::Contains("must be a token id"));
  CHECK_THAT(changed("/added_tokens/0/id", 300),
             Catch::Contains("added_tokens[0]: '<|endoftext|>' has id 300, but by the vocabulary it must have 256"));
  CHECK_THAT(changed("/added_tokens/0/content", ""), Catch::Contains("needs content"));
  CHECK_THAT(changed("/added_tokens/1/content", "<|endoftext|>"), Catch::Contains("listed twice"));
  CHECK_THAT(changed("/version", "2.0"), Catch::Contains("version = \"2.0\""));
  CHECK_THAT(changed("/model", nullptr), Catch::Contains("needs 'model'"));
}

uint32_t draw(uint32_t round, uint32_t position, size_t below) {
  return static_cast<uint32_t>(random_uniform({.seed = 11, .step = round, .position = position}) *
                               static_cast<double>(below));
}

/// A value of the tree chosen at random.
FileJson& random_node(FileJson& root, uint32_t round) {
  FileJson* node = &root;
  for (uint32_t depth = 0; node->is_structured() && !node->empty() && (depth == 0 || draw(round, 90 + depth, 5) > 0);
       ++depth)
    node = &*std::next(node->begin(), draw(round, 10 + depth, node->size()));
  return *node;
}

bool loads_or_is_refused(const std::string& text) {
  try {
    const Tokenizer tokenizer = Tokenizer::parse(text, "tokenizer.json");
    tokenizer.decode(tokenizer.encode("Hello, 12 w\u00f6rld's\n<|im_end|> \u6f22"));
  } catch (const UserError& e) {
    return std::string_view(e.what()).starts_with("tokenizer.json");
  }
  return true;
}

TEST_CASE("a damaged tokenizer.json is refused or works, and never crashes", "[text]") {
  const FileJson whole = golden()[2]["tokenizer"];
  const FileJson values = FileJson::parse(
      R"([null, true, -1, 0, 3, 1e9, 1.5, "", "a", "x y", [], {}, ["a"], [["a", "b"]], {"type": "Sequence"}, {"a": 1}, "\\p{L}+(", "Split"])");
  int refused = 0;
  for (uint32_t round = 0; round < 1500; ++round) {
    FileJson json = whole;
    random_node(json, round) = values[draw(round, 0, values.size())];
    CAPTURE(round);
    REQUIRE(loads_or_is_refused(json.dump()));
    refused += json != whole;
  }
  CHECK(refused > 1000);
  const std::string text = whole.dump();
  for (uint32_t round = 0; round < 1500; ++round) {
    std::string bytes = text;
    for (uint32_t i = 0; i <= draw(round, 1, 4); ++i)
      bytes[draw(round, 10 + i, bytes.size())] = static_cast<char>(draw(round, 20 + i, 256));
    if (round % 3 == 0) bytes.resize(draw(round, 2, bytes.size()));
    CAPTURE(round);
    REQUIRE(loads_or_is_refused(bytes));
  }
}

}  // namespace
}  // namespace roll
