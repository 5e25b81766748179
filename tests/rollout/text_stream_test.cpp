#include "rollout/text_stream.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/random.h"
#include "rollout/stop_strings.h"
#include "text/tiny_tokenizer.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

Tokenizer tiny_tokenizer() {
  return Tokenizer::parse(make_byte_level_tokenizer({.words = {"user", "the"}, .more_special_tokens = {}}).dump(),
                          "tiny");
}

std::vector<int64_t> ids_of_bytes(const std::string& bytes) {
  std::vector<int64_t> ids;
  for (const char c : bytes) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

/// What is shown after each byte.
std::vector<std::string> shown(const std::string& bytes, const SamplingSettings& args) {
  const Tokenizer tokenizer = tiny_tokenizer();
  const DecodeText decode = [&](std::span<const int64_t> ids, bool skip) { return tokenizer.decode(ids, skip); };
  TextStream stream(args, decode);
  const auto ids = ids_of_bytes(bytes);
  std::vector<std::string> pieces;
  for (size_t i = 1; i <= ids.size(); ++i) pieces.push_back(stream.next_text(std::span(ids).first(i)));
  return pieces;
}

using Pieces = std::vector<std::string>;

}  // namespace

TEST_CASE("a character of several tokens is shown when it is whole", "[rollout]") {
  CHECK(shown("a\xC3\xA9z", {}) == Pieces{"a", "", "\xC3\xA9", "z"});
  CHECK(shown("\xF0\x9F\x98\x80", {}) == Pieces{"", "", "", "\xF0\x9F\x98\x80"});
  // What can no longer become a character is shown as U+FFFD.
  CHECK(shown("\xC3x", {}) == Pieces{"", "\xEF\xBF\xBDx"});
  // Further bytes may change all of a run of U+FFFD (byte_fallback), so it is shown once something follows it.
  CHECK(shown("\xC3\xC3\xA9", {}) == Pieces{"", "", "\xEF\xBF\xBD\xC3\xA9"});
}

TEST_CASE("what may be the beginning of a stop string is held back until it is none", "[rollout]") {
  SamplingSettings args;
  args.stop_strings = {"END", "\n\n"};
  CHECK(shown("aE.", args) == Pieces{"a", "", "E."});
  CHECK(shown("aENEN.", args) == Pieces{"a", "", "", "EN", "", "EN."});
  CHECK(shown("a\nb", args) == Pieces{"a", "", "\nb"});
  CHECK(shown("aEND", args) == Pieces{"a", "", "", ""});
}

TEST_CASE("the rest ends what was shown with the response's text", "[rollout]") {
  const Tokenizer tokenizer = tiny_tokenizer();
  const DecodeText decode = [&](std::span<const int64_t> ids, bool skip) { return tokenizer.decode(ids, skip); };
  SamplingSettings args;
  args.stop_strings = {"END"};
  for (const std::string text : {"so END", "so "}) {
    TextStream stream(args, decode);
    CHECK(stream.next_text(ids_of_bytes("so END")) == "so ");
    CHECK("so " + stream.remaining_text(text) == text);
  }
  TextStream unfinished(args, decode);
  CHECK(unfinished.next_text(ids_of_bytes("so\xC3")) == "so");
  CHECK(unfinished.remaining_text("so\xEF\xBF\xBD") == "\xEF\xBF\xBD");
}

TEST_CASE("whatever tokens come, all that is shown is their text", "[rollout]") {
  const Tokenizer tokenizer = tiny_tokenizer();
  const DecodeText decode = [&](std::span<const int64_t> ids, bool skip) { return tokenizer.decode(ids, skip); };
  SamplingSettings args;
  args.skip_special_tokens = GENERATE(true, false);
  args.stop_strings = {"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"};
  for (uint64_t sequence = 0; sequence < 200; ++sequence) {
    TextStream stream(args, decode);
    std::vector<int64_t> ids;
    std::string all;
    for (uint32_t position = 0; position < 40; ++position) {
      const double uniform = random_uniform({.sequence = sequence, .position = position});
      // Many bytes that open or go on a character, some special tokens.
      const double first = position % 3 == 0 ? 0 : 120;
      ids.push_back(static_cast<int64_t>(first + uniform * (static_cast<double>(tokenizer.vocab_size()) - first)));
      if (position % 5 != 4) all += stream.next_text(ids);
      REQUIRE(tokenizer.decode(ids, args.skip_special_tokens).starts_with(all));
    }
    const std::string text = tokenizer.decode(ids, args.skip_special_tokens);
    REQUIRE(all + stream.remaining_text(text) == text);
  }
}

TEST_CASE("of several responses the first that has not ended is shown as it grows", "[rollout]") {
  const Tokenizer tokenizer = tiny_tokenizer();
  const DecodeText decode = [&](std::span<const int64_t> ids, bool skip) { return tokenizer.decode(ids, skip); };
  const SamplingSettings args;
  std::ostringstream out;
  OrderedTexts texts(out, args, decode, 3);
  texts.grow(1, ids_of_bytes("b"));
  texts.grow(0, ids_of_bytes("a"));
  CHECK(out.str() == "a");
  texts.grow(1, ids_of_bytes("bb"));
  texts.end(2, "c");
  texts.end(0, "aa");
  CHECK(out.str() == "aa\n\n");
  texts.grow(1, ids_of_bytes("bbb"));
  CHECK(out.str() == "aa\n\nbbb");
  texts.end(1, "bbbb");
  CHECK(out.str() == "aa\n\nbbbb\n\nc\n");
}

}  // namespace roll
