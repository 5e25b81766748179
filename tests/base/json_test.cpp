#include "base/json.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "base/strangers_json.h"
#include "error_of.h"

namespace roll {

using Catch::Contains;
using testing::error_of;

namespace {

/// `levels` lists, or objects, in each other.
std::string nested(size_t levels, bool lists) {
  std::string text;
  for (size_t i = 0; i < levels; ++i) text += lists ? "[" : R"({"a":)";
  text += "1";
  for (size_t i = 0; i < levels; ++i) text += lists ? "]" : "}";
  return text;
}

std::string object_with_keys(int64_t count) {
  std::string text = "{";
  for (int64_t i = 0; i < count; ++i) text += fmt::format("{}\"key{}\":1", i > 0 ? "," : "", i);
  return text + "}";
}

std::string line_error(const std::string& text) {
  std::istringstream in(text);
  return error_of([&] { for_each_json_line(in, "x.jsonl", [](int64_t, const Json&) {}); });
}

}  // namespace

TEST_CASE("JSON that would exhaust the stack is refused with its place", "[base]") {
  for (const bool lists : {true, false}) {
    CHECK(parse_json(nested(kMaxJsonDepth, lists), "x").dump() == nested(kMaxJsonDepth, lists));
    for (const size_t levels : {size_t{kMaxJsonDepth} + 1, size_t{100'000}}) {
      const std::string text = nested(levels, lists);
      const std::string column = fmt::format("line 1, column {}", lists ? kMaxJsonDepth + 1 : 5 * kMaxJsonDepth + 1);
      for (const std::string& error :
           {error_of([&] { parse_json(text, "x.json"); }), error_of([&] { parse_file_json(text, "x.json"); }),
            error_of([&] { parse_unique_json(text, "x.json"); })})
        CHECK_THAT(error, Contains("x.json: JSON nested more than 200 levels deep at " + column));
    }
  }
  CHECK_THAT(line_error("{\"a\": 1}\n{\"a\": " + nested(100'000, true) + "}\n"),
             Contains("x.jsonl:2:206: JSON nested"));
}

TEST_CASE("a line that is no JSON is told with the column and what stands there", "[base]") {
  CHECK(line_error("{\"a\": 1}\n{\"\xc3\xa9\": oops \x1b}\n") ==
        "x.jsonl:2:7: not valid JSON from here: \"oops \u00b7}\"; write one whole JSON object per line");
  CHECK(line_error("{\"a\": 1") ==
        "x.jsonl:1:8: the line ends before its JSON object is complete; write one whole JSON object per line");
  CHECK(line_error("{\"\xc3\xa9\": \"\xe9t\"}") == "x.jsonl:1:8: byte 0xe9 is no UTF-8; save the file as UTF-8");
  CHECK(line_error("{" + std::string(100, 'x')) == "x.jsonl:1:2: not valid JSON from here: \"" + std::string(30, 'x') +
                                                       "\"; write one whole JSON object per line");
  const auto whole = [](const std::string& text) { return error_of([&] { parse_json(text, "x.json"); }); };
  CHECK(whole("{\n  oops") == "x.json: not valid JSON at line 2, column 3; repair the file or fetch it again");
  CHECK(whole("[\n \"\xff\"]") == "x.json: byte 0xff is no UTF-8 at line 2, column 3; save the file as UTF-8");
}

TEST_CASE("brackets in strings nest nothing", "[base]") {
  const std::string brackets(1000, '[');
  CHECK(parse_json("[\"" + brackets + "\"]", "x")[0] == brackets);
  CHECK(parse_json(R"(["\"", "[", "\\", "["])", "x").size() == 4);
  CHECK(parse_json(R"(["\")" + brackets + "\"]", "x")[0] == "\"" + brackets);
}

TEST_CASE("an object of many keys keeps them in order, and of a key that occurs twice the last value", "[base]") {
  for (const int count : {3, 40}) {
    std::string text = "{";
    for (int i = 0; i < count; ++i) text += fmt::format("\"k{}\": {}, ", count - i, i);
    const Json value =
        parse_json(text + fmt::format("\"k{}\": \"again\", \"k1\": {{\"b\": 1, \"a\": 2}}}}", count), "x");
    REQUIRE(value.size() == static_cast<size_t>(count));
    CHECK(value.begin().key() == fmt::format("k{}", count));
    CHECK(value.begin().value() == "again");
    CHECK(to_line(value).ends_with(R"("k2":)" + std::to_string(count - 2) + R"(,"k1":{"b":1,"a":2}})"));
  }
  CHECK(parse_json(object_with_keys(100'000), "x").size() == 100'000);
}

TEST_CASE("a stranger's text may have so many values, lists and objects counting more", "[base]") {
  const auto list_of = [](size_t count, const std::string& value) {
    std::string text = "[" + value;
    for (size_t i = 1; i < count; ++i) text += "," + value;
    return text + "]";
  };
  CHECK(parse_strangers_json(list_of(400'000, "0"), "x").size() == 400'000);
  CHECK(parse_strangers_json("\"" + std::string(600'000, ',') + "\"", "x").is_string());
  for (const std::string& text : {list_of(500'001, "0"), list_of(30'000, R"({"":0})"), list_of(30'000, "[]")})
    CHECK_THAT(error_of([&] { parse_strangers_json(text, "the body"); }),
               Contains("the body: more than 500000 values at line 1, column"));
}

TEST_CASE("a key that the outermost object has twice is refused, deeper ones are not looked at", "[base]") {
  CHECK(error_of([] { parse_unique_json(R"({"a": 1, "b": {"c": 1, "c": 2}, "\u0061": 2})", "x.json"); }) ==
        "x.json: a: occurs twice");
  CHECK(parse_unique_json(R"({"a": {"a": 1}, "b": {"a": 1, "a": 2}})", "x.json").size() == 2);
}

TEST_CASE("a number beyond float64 is told in our words", "[base]") {
  CHECK(error_of([] { parse_json("[1e999]", "x.json"); }) ==
        "x.json: not valid JSON: a number in it is too large for a float64");
}

TEST_CASE("numbers that Python writes and JSON lacks are read where they are asked for, and nowhere else", "[base]") {
  const std::string text =
      R"({"a": [Infinity, -Infinity,NaN], "Infinity": "Infinity", "b": {"c":-Infinity}, "d": "NaN, \"NaN"})";
  const auto check = [](const auto& json) {
    CHECK(json["a"][0].template get<double>() == std::numeric_limits<double>::infinity());
    CHECK(json["a"][1].template get<double>() == -std::numeric_limits<double>::infinity());
    CHECK(std::isnan(json["a"][2].template get<double>()));
    CHECK(json["Infinity"] == "Infinity");
    CHECK(json["b"]["c"].template get<double>() == -std::numeric_limits<double>::infinity());
    CHECK(json["d"] == "NaN, \"NaN");
  };
  check(parse_python_json(text, "x.json"));
  check(parse_python_file_json(text, "x.json"));
  CHECK_THAT(error_of([&] { parse_json(text, "x.json"); }), Contains("not valid JSON at line 1"));
  for (const char* wrong : {"{Infinity: 1}", "[Infinit]", "[+Infinity]", "[InfinityX]", "[- Infinity]", "[nan]",
                            "[1, \"Infinity]", "[\"\\u0001\", Infinity]", "[NaN", "[\"NaN\\"})
    CHECK_THAT(error_of([&] { parse_python_json(wrong, "x.json"); }), Contains("x.json: not valid JSON"));
  CHECK(error_of([] { parse_python_json("{\"a\": -Infinity,\n \"b\": NaN, \"c\": x}", "x.json"); }) ==
        error_of([] { parse_python_json("{\"a\": 123456789,\n \"b\": 123, \"c\": x}", "x.json"); }));
}

TEST_CASE("a line without an end is not waited for, and one without a newline is whole", "[base]") {
  std::ifstream zeros("/dev/zero", std::ios::binary);
  CHECK_THAT(error_of([&] { for_each_json_line(zeros, "zeros", [](int64_t, const Json&) {}); }),
             Contains("zeros:1: a line has more than 128 MB"));
  std::ifstream folder("/", std::ios::binary);
  CHECK_THAT(error_of([&] { for_each_json_line(folder, "/", [](int64_t, const Json&) {}); }),
             Contains("/: cannot be read"));

  // Lengths around the pieces in which lines are read.
  for (const size_t length :
       {size_t{1}, (size_t{1} << 14) - 2, (size_t{1} << 14) - 1, size_t{1} << 14, size_t{50'000}}) {
    const std::string line(length, 'x');
    for (const std::string end : {"", "\n"}) {
      std::istringstream in("first\n" + line + end);
      std::string text;
      REQUIRE(next_line(in, text, "x", 1));
      REQUIRE(next_line(in, text, "x", 2));
      CHECK(text == line);
      CHECK_FALSE(next_line(in, text, "x", 3));
    }
  }
}

TEST_CASE("what is no file is not read as one", "[base]") {
  CHECK(error_of([] { read_file("/dev/zero"); }) ==
        "/dev/zero: is a pipe or device where a file is needed; write it to a file first");
  CHECK_THAT(error_of([] { read_file("/"); }), Contains("is a folder"));
  CHECK_THAT(error_of([] { read_file("README.md", 10); }), Contains("at most 0 MB are read"));
}

}  // namespace roll
