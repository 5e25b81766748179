// Grammars as texts; what they let through, tests/cli/response_format_test.py draws and judges.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "grammar/ebnf.h"
#include "grammar/json_grammar.h"
#include "grammar/number_grammar.h"
#include "grammar/pattern.h"

namespace roll {

TEST_CASE("ranges of numbers end at both bounds", "[grammar]") {
  CHECK(ebnf_integers(7, 7) == R"(("7" ("")))");
  CHECK(ebnf_integers(-3, -2) == R"(("-" ("2" ("") | "3" (""))))");
  CHECK(ebnf_integers(10, 99) == R"(("1" ( [0-9]{1}) | [2-8] [0-9]{1} | "9" ( [0-9]{1})))");
  CHECK(ebnf_decimals(5, 7, 1) == R"(("0." ("5" ("") | "6" | "7" (""))))");
  CHECK_THROWS_AS(ebnf_integers(2, 1), Bug);
}

TEST_CASE("literals are escaped", "[grammar]") {
  CHECK(ebnf_literal("a\"\\\n\x7f\xc3\xb6") == "\"a\\\"\\\\\\x0a\\x7f\xc3\xb6\"");
}

TEST_CASE("a pattern matches what JSON writes of a character", "[grammar]") {
  CHECK(pattern_grammar("a|b+$", "k") == R"((([\U00000061-\U00000061]) | ([\U00000062-\U00000062])+))");
  CHECK(pattern_grammar("[\"]", "k") == R"((("\\\"")))");
  CHECK_THROWS_WITH(pattern_grammar("[\\x01]", "k"), Catch::Contains("k: characters that JSON cannot contain"));
  for (const char* wrong : {"(", ")", "[a", "a{", "a{2", "a{3,2}", "a**", "*", "\\", "\\p", "\\x1", "[b-a]", "(?=a)",
                            "a^b", "a$b", "a{1001}"})
    CHECK_THROWS_AS(pattern_grammar(wrong, "k"), UserError);
}

TEST_CASE("references of a tool's parameters are its own", "[grammar]") {
  const Json tools =
      Json::parse(R"([{"function":{"name":"f","parameters":{"$ref":"#/$defs/x","$defs":{"x":{"type":"null"}}}}}])");
  CHECK_THAT(call_grammar(tools, "arguments", "<", ">", "k"), Catch::Contains("\"null\"") && Catch::Contains("\"<\" "));
}

}  // namespace roll
