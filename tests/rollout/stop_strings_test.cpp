#include "rollout/stop_strings.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

/// Tokens are single bytes; an unfinished two-byte character decodes to U+FFFD as in a real tokenizer.
std::string decode_bytes(std::span<const int64_t> ids, bool) {
  std::string text;
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool opens = ids[i] == 0xC3;
    if (opens && i + 1 == ids.size())
      text += "\xEF\xBF\xBD";
    else
      text += static_cast<char>(ids[i]);
  }
  return text;
}

/// After how many tokens the watcher first reports a stop; 0: never.
size_t stops_after(const std::string& bytes, const std::vector<std::string>& stops) {
  std::vector<int64_t> ids;
  StopWatcher watcher;
  for (const char c : bytes) {
    ids.push_back(static_cast<unsigned char>(c));
    if (watcher.has_stop(ids, stops, decode_bytes)) return ids.size();
  }
  return 0;
}

}  // namespace

TEST_CASE("a stop string is found at the token that completes it", "[rollout]") {
  CHECK(stops_after("ab\n\nQ: more", {"\n\nQ:"}) == 6);
  CHECK(stops_after("ab\nab\nQ", {"b\nQ"}) == 7);
  CHECK(stops_after("aaab", {"aab"}) == 4);
  CHECK(stops_after("nothing here", {"stop"}) == 0);
  CHECK(stops_after("one two three", {"three", "two"}) == 7);
}

TEST_CASE("a stop string with characters of several tokens is found", "[rollout]") {
  CHECK(stops_after("caf\xC3\xA9!", {"f\xC3\xA9"}) == 5);
  CHECK(stops_after("\xC3\xA9\xC3\xA9x", {"\xC3\xA9x"}) == 5);
  // A character that is not whole yet is no U+FFFD.
  CHECK(stops_after("a\xC3\xA9!", {"\xEF\xBF\xBD", "!"}) == 4);
}

TEST_CASE("the stop string that ends first wins, and of two that end together the longer", "[rollout]") {
  const auto first = find_stop("abcdef", {"def", "bc"});
  REQUIRE(first);
  CHECK(first->begin == 1);
  CHECK(first->end == 3);
  const auto longer = find_stop("abcdef", {"cd", "abcd"});
  REQUIRE(longer);
  CHECK(longer->begin == 0);
  const auto inner = find_stop("abcdef", {"abcd", "bc"});
  REQUIRE(inner);
  CHECK(inner->begin == 1);
  CHECK(!find_stop("abc", {"x"}));
}

TEST_CASE("a text may be cut where a stop string begins, be it whole or growing at the end", "[rollout]") {
  CHECK(may_stop_at("one END two", {"END"}, 0) == 4);
  CHECK(may_stop_at("one END two", {"END"}, 5) == 11);
  CHECK(may_stop_at("one EN", {"END", "e"}, 0) == 2);
  CHECK(may_stop_at("one EN", {"END"}, 0) == 4);
  CHECK(may_stop_at("one ENE", {"END"}, 0) == 6);
  CHECK(may_stop_at("one", {}, 0) == 3);
}

TEST_CASE("a stop string may lie in what the decoder puts between two tokens", "[rollout]") {
  const DecodeText words = [](std::span<const int64_t> ids, bool) {
    std::string text;
    for (const int64_t id : ids) text += (text.empty() ? "" : " ") + std::string(1, static_cast<char>(id));
    return text;
  };
  const std::vector<int64_t> ids = {'x', 'a', 'b'};
  StopWatcher watcher;
  CHECK_FALSE(watcher.has_stop(std::span(ids).first(1), {"a b"}, words));
  CHECK_FALSE(watcher.has_stop(std::span(ids).first(2), {"a b"}, words));
  CHECK(watcher.has_stop(ids, {"a b"}, words));
}

}  // namespace roll
