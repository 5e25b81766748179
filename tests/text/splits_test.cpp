#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "text/normalizer.h"
#include "text/pattern_syntax.h"
#include "text/pre_tokenizer.h"
#include "unicode/unicode.h"

namespace roll {
namespace {

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return out;
}

FileJson pieces_of(const PreTokenizer& pre_tokenizer, const std::string& text) {
  MatchMemory memory;
  TextPieces pieces;
  pieces.reset(text);
  pre_tokenizer.split(pieces, {}, memory);
  FileJson out = FileJson::array();
  for (const Span& span : pieces.spans()) out.push_back(hex(pieces.piece(span)));
  return out;
}

FileJson normal_form(const Normalizer& normalizer, std::string text) {
  MatchMemory memory;
  normalizer.apply(text, memory);
  return text;
}

TEST_CASE("pre-tokenizers cut and normalizers change texts as HF tokenizers does", "[text]") {
  const std::string file = ROLL_SOURCE_DIR "/tests/golden/text/splits.json";
  const FileJson golden = parse_file_json(read_file(file), file);
  REQUIRE(golden["cases"].size() > 140);
  for (const FileJson& one : golden["cases"]) {
    const JsonView section(one["section"], "test");
    const bool is_normalizer = one["texts"].back()["result"].is_string();
    CAPTURE(one["section"].dump());
    for (const FileJson& text : one["texts"]) {
      CAPTURE(text["text"].get<std::string>());
      if (is_normalizer)
        CHECK(normal_form(Normalizer(section), text["text"]) == text["result"]);
      else
        CHECK(pieces_of(PreTokenizer(section), text["text"]) == text["result"]);
    }
  }
}

std::string pattern_error(const std::string& pattern) {
  try {
    Pattern::regex(pattern, "file");
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error for " + pattern;
}

TEST_CASE("a regular expression that PCRE2 would read differently is refused", "[text]") {
  for (const std::string pattern :
       {R"(\X)",         R"(\G)",           R"(\Z)",      R"(\1)",          R"(\k<a>)",       R"((?<n>a))",
        R"((?x: a ))",   R"(a(?i)b)",       R"([a[bc]])", R"([a&&b])",      R"([[:alpha:]])", R"(\pL)",
        R"(\p{Letter})", R"(\p{Greek})",    R"(\xff)",    R"((?i:straße))", R"((?i:'ss))",    R"((?i:of fi))",
        R"([\W])",       R"(a{2}?)",        R"({)",       R"(x{,})",        R"(\Qa\E)",       R"(\c)",
        R"(\u00)",       R"(\x{110000000})"})
    CHECK_THAT(pattern_error(pattern), Catch::StartsWith("file: regular expression '") && Catch::Contains("supported"));
  for (const std::string pattern : {"(", ")", "[", "[^", "*a", "a**", "\\", "(?<=a*)b", "[z-a]", "(?i", "(?"})
    CHECK_THAT(pattern_error(pattern), Catch::StartsWith("file: regular expression '"));
  CHECK_THAT(pattern_error("ab[[:x"), Catch::Contains("at byte 3: [ within [...]"));
}

TEST_CASE("a match that costs too much is an error, not a hang", "[text]") {
  const Pattern pattern = Pattern::regex("(?:a+)+b|(?:a|aa)+$x", "file");
  MatchMemory memory;
  std::vector<Span> matches;
  CHECK_THROWS_AS(pattern.find_all(std::string(5000, 'a'), memory, matches), UserError);
}

TEST_CASE("invalid UTF-8 is replaced per maximal invalid part", "[text]") {
  CHECK(to_valid_utf8("a\xC3\xA9\xF0\x9F\x98\x80") == "a\u00e9\U0001F600");
  CHECK(to_valid_utf8("\x80\xBF") == "\uFFFD\uFFFD");
  CHECK(to_valid_utf8("\xF0\x9F\x98 x") == "\uFFFD x");          // a truncated character is one part
  CHECK(to_valid_utf8("\xE2\x82") == "\uFFFD");                  // also at the end
  CHECK(to_valid_utf8("\xC0\xAF") == "\uFFFD\uFFFD");            // overlong
  CHECK(to_valid_utf8("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");  // surrogate
  CHECK(to_valid_utf8("\xF4\x90\x80\x80") == "\uFFFD\uFFFD\uFFFD\uFFFD");
  CHECK(to_valid_utf8("\xF0\x80\x80") == "\uFFFD\uFFFD\uFFFD");
  CHECK(valid_utf8_prefix("0123456789abcdef\xFFg") == 16);
}

TEST_CASE("characters newer than Unicode 14 count as their kind", "[text]") {
  CHECK(is_numeric(0x1E4F0));  // Nag Mundari digit zero, Unicode 15
  CHECK(is_word(0x31350));     // CJK extension H, Unicode 15
  CHECK(is_word(0x2EBF0));     // CJK extension I, Unicode 15.1
  CHECK_FALSE(is_word(0x2FFC));
  CHECK(older_character(U'a') == U'a');
  std::string lower;
  append_lowercase(lower, 0x1C89);  // Cyrillic capital letter tje, Unicode 16
  CHECK(lower == "\u1C8A");
}

}  // namespace
}  // namespace roll
