#include "config/yaml_cause.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "config/yaml.h"
#include "error_of.h"

namespace roll {

namespace {

/// What is said of a text that is no YAML: the first line without "f.yaml:".
std::string cause_of(const std::string& yaml) {
  const std::string error = testing::error_of([&] { parse_yaml(yaml, "f.yaml"); });
  return error.substr(0, error.find('\n'));
}

}  // namespace

TEST_CASE("a line that is no YAML is shown with a caret below the mistake", "[config]") {
  CHECK(testing::error_of([] { parse_yaml("exp_name: x\nmax_steps 3\nseed: 4\n", "f.yaml"); }) ==
        "f.yaml:2:10: not valid YAML: no ': ' between key and value; write `max_steps: 3`\n"
        "  2 | max_steps 3\n"
        "    |          ^");
}

TEST_CASE("the line of the mistake is named, not the one where the parser gave up", "[config]") {
  CHECK(cause_of("a: 1\nb=2\nc: 3\n") == "f.yaml:2:2: not valid YAML: no ': ' between key and value; write `b: 2`");
  CHECK(cause_of("a: 1\nb:2\n# between\n\nc: 3\n") ==
        "f.yaml:2:2: not valid YAML: no ': ' between key and value; write `b: 2`");
  CHECK(cause_of("a: \"one\nb: 2\nc: \"three\"\n") ==
        "f.yaml:1:4: not valid YAML: this quote is closed only in line 3; close it where its text ends");
  CHECK(cause_of("a: [1, 2\nb: 3\n") == "f.yaml:1:4: not valid YAML: this '[' is never closed; close it with ']'");
  CHECK(cause_of("a: {b: [1, 2]\nc: 3\n") == "f.yaml:1:4: not valid YAML: this '{' is never closed; close it with '}'");
}

TEST_CASE("a quote that nothing closes is an error, wherever it stands", "[config]") {
  for (const char* yaml :
       {"a: 1\nb: \"two\n", "a: 1\nb: 'two\nc: 3\n", "a: 1\nb: 'it''s\n", "a: 1\nb: \"\\\"\n", "a: 1\nb: 'two"})
    CHECK(cause_of(yaml) == "f.yaml:2:4: not valid YAML: this quote is never closed; close it where its text ends");
  CHECK(testing::error_of([] { parse_yaml("'two", "override", true); }) ==
        "override: not valid YAML: this quote is never closed; close it where its text ends");
}

TEST_CASE("quotes inside of words, comments and blocks of text open nothing", "[config]") {
  CHECK(cause_of("a: it's 5\" # don't\nb: |\n  \"open\n  [\nc: >-\n  'open\nd: 1\n") == "no error");
  CHECK(cause_of("a: |\n  \"open\nb: [1\nc: 2\n") ==
        "f.yaml:3:4: not valid YAML: this '[' is never closed; close it with ']'");
}

TEST_CASE("tabs, colons and columns are told apart", "[config]") {
  CHECK(cause_of("a:\n\tb: 2\n") == "f.yaml:2:1: not valid YAML: a tab in the indentation; YAML indents with spaces");
  CHECK(cause_of("a: b: c\n") ==
        "f.yaml:1:5: not valid YAML: a second ': ' in one line; put the value in quotes, or move the second key to a "
        "new line");
  CHECK(cause_of("a: 1\n  b: 2\n") ==
        "f.yaml:2:3: not valid YAML: indented deeper than line 1, which has a value already; begin both in the same "
        "column");
  CHECK(cause_of("a:\n    b: 1\n  c: 2\n") ==
        "f.yaml:3:3: not valid YAML: begins in column 3, in which no line above begins; begin it in column 5 or 1");
}

TEST_CASE("brackets, marks, anchors and lists in the wrong place are named", "[config]") {
  CHECK(cause_of("a: {b: 1}}\n") == "f.yaml:1:10: not valid YAML: this '}' has no opening bracket; remove it");
  CHECK(cause_of("a: 1\nb: %d\n") == "f.yaml:2:4: not valid YAML: a value cannot begin with '%'; put it in quotes");
  CHECK(cause_of("a: *b\n") == "f.yaml:1:4: not valid YAML: no anchor (&name) of this name is defined above");
  CHECK(cause_of("a: - b\n") ==
        "f.yaml:1:4: not valid YAML: a list item on the line of its key; begin it on the next line, or write [item, "
        "item]");
  CHECK(cause_of("a: \"x\" y\n") ==
        "f.yaml:1:8: not valid YAML: text after a closing quote; put the whole value in quotes");
}

TEST_CASE("words, comments and line ends are what they are to YAML", "[config]") {
  CHECK(cause_of("a 1\r\nb: 2\r\n") == "f.yaml:1:2: not valid YAML: no ': ' between key and value; write `a: 1`");
  CHECK(cause_of("a: don't\nb: [1\n") == "f.yaml:2:4: not valid YAML: this '[' is never closed; close it with ']'");
  CHECK(cause_of("a: [x#y]]\n") == "f.yaml:1:9: not valid YAML: this ']' has no opening bracket; remove it");
  CHECK(cause_of("a: x [1\nb: [2]]\n") == "f.yaml:2:7: not valid YAML: this ']' has no opening bracket; remove it");
}

TEST_CASE("a cause that does not fit the parser's words is not told", "[config]") {
  const auto words_of = [](const char* yaml, int line, int column, const char* words) {
    const YamlCause cause = yaml_cause(yaml, line, column, words);
    return fmt::format("{}:{}: {}", cause.line, cause.column, cause.words);
  };
  CHECK(words_of("a:\n\tb: 1\nc: 2\n", 3, 1, "x") == "2:1: a tab in the indentation; YAML indents with spaces");
  CHECK(words_of("a: ]\nc: d: e\n", 2, 5, "illegal map value").starts_with("2:5: a second ': ' in one line"));
  CHECK(words_of("a:\n- b c\n  d: 1\n", 3, 4, "illegal map value").starts_with("3:3: indented deeper than line 2"));
  CHECK(words_of("a 1\n# b: 2\nc: 3\n", 3, 2, "illegal map value").starts_with("1:2: no ': ' between"));
  CHECK(words_of("a: 1\nb: 2\n", 2, 2, "illegal map value") == "2:2: illegal map value");
  CHECK(words_of("a: 1\n  \"b\": 2\n", 2, 3, "end of map not found").starts_with("2:3: begins in column 3"));
  CHECK(words_of("a: 1\nb: 2\n", 2, 1, "end of map not found") == "2:1: end of map not found");
  CHECK(words_of("a: 1\n", 5, 1, "illegal map value") == "5:1: illegal map value");
}

TEST_CASE("a caret stands below its character, of a long line the part around it is shown", "[config]") {
  CHECK(pointed_line("é: \"x\" y", 1, 9) == "\n  1 | é: \"x\" y\n    |        ^");
  const std::string pointed = pointed_line(std::string(500, 'x'), 1, 400);
  CHECK(pointed.size() < 250);
  CHECK(pointed.ends_with("^"));
  CHECK(pointed_line("a\tb", 1, 3) == "\n  1 | a b\n    |   ^");
  CHECK(pointed_line("a", 2, 1).empty());
}

}  // namespace roll
