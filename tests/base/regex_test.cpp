#include "base/regex.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

namespace roll {

namespace {

/// The text of the first match, or "none".
std::string found(const std::string& expression, const std::string& text, const RegexOptions& options = {}) {
  MatchMemory memory;
  const auto match = Regex(expression, options).find(text, 0, memory);
  return match ? text.substr(match->begin, match->end - match->begin) : "none";
}

}  // namespace

TEST_CASE("a regular expression finds its first match and its groups from a place on", "[base]") {
  const Regex regex("(a)|(é)=(\\d+)");
  CHECK(regex.num_groups() == 3);
  MatchMemory memory(3);
  const std::string text = "é=12 é=3";
  REQUIRE(regex.find(text, 1 + 1, memory));
  CHECK(memory.group(0)->begin == 6);
  CHECK(memory.group(0)->end == 10);
  CHECK_FALSE(memory.group(1));
  CHECK(memory.group(3)->begin == 9);
  CHECK_FALSE(memory.group(4));
  CHECK_FALSE(regex.find(text, text.size(), memory));
}

TEST_CASE("each option of a regular expression changes what it matches, and is off by default", "[base]") {
  CHECK(found("^b", "a\nb") == "none");
  CHECK(found("^b", "a\nb", {.multiline = true}) == "b");
  CHECK(found("a.b", "a\nb") == "none");
  CHECK(found("a.b", "a\nb", {.dot_all = true}) == "a\nb");
  CHECK(found("É", "é") == "none");
  CHECK(found("É", "é", {.ignore_case = true}) == "é");
  CHECK(found("\\w+", "é") == "none");
  CHECK(found("a.", "aba.") == "ab");
  CHECK(found("a.", "aba.", {.literal = true}) == "a.");
  CHECK(found("\\w+", "é", {.unicode_classes = true}) == "é");
}

TEST_CASE("all matches are found once, empty ones between whole characters", "[base]") {
  const auto begins = [](const std::string& expression, const std::string& text) {
    MatchMemory memory;
    std::vector<Span> matches;
    Regex(expression).find_all(text, memory, matches);
    std::string all;
    for (const Span& match : matches) all += fmt::format("{}-{} ", match.begin, match.end);
    return all;
  };
  CHECK(begins("a+", "aabéa") == "0-2 5-6 ");
  CHECK(begins("a*", "aaéa") == "0-2 4-5 ");
  CHECK(begins("", "aé") == "0-0 1-1 3-3 ");
  CHECK(begins("(?<=é)", "éé") == "2-2 4-4 ");
  CHECK(begins("x", "") == "");
}

TEST_CASE("an expression that does not compile says why and where", "[base]") {
  try {
    Regex("ab(c");
    FAIL("compiled");
  } catch (const RegexError& e) {
    CHECK(e.offset == 4);
    CHECK_THAT(e.what(), Catch::Contains("parenthesis"));
  }
}

TEST_CASE("catastrophic backtracking ends by itself", "[base]") {
  CHECK_THROWS_AS(found("^(a+)+$", std::string(5000, 'a') + "b"), MatchFailed);
}

TEST_CASE("a timed expression stops after its time, where no backtracking limit would", "[base]") {
  // Quadratic: every start scans to the end, but hardly backtracks.
  const std::string text(2'000'000, 'a');
  const Regex regex("a[^b]*+b(?<=b)|a[^c]*+c(?<=c)", {.timed = true});
  MatchMemory memory;
  memory.limit_time(0.2);
  CHECK_THROWS_WITH(regex.find(text, 0, memory), Catch::Contains("time limit"));
  memory.limit_time(60);
  CHECK(regex.find("ab", 0, memory));
}

}  // namespace roll
