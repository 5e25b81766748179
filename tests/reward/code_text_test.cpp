#include "reward/code/code_text.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "error_of.h"
#include "reward/code/code_cases.h"
#include "reward/code/same_output.h"
#include "reward/queries.h"

namespace roll {

using testing::error_of;

namespace {

std::string code_in(const std::string& response) {
  const auto block = last_code_block(response, {"python", "cpp"});
  return block ? block->language + ": " + block->code : "none";
}

}  // namespace

TEST_CASE("the last marked block is the program, else the last without a mark") {
  CHECK(code_in("```python\na\n```\n```py\nb\n```") == "python: b\n");
  CHECK(code_in("```cpp\na\n```\n```\nb\n```") == "cpp: a\n");
  CHECK(code_in("```\na\n```\n```\nb\n```") == "python: b\n");
  CHECK(code_in("```json\na\n```\n```c++\nb\n```") == "cpp: b\n");
  CHECK(code_in("```json\na\n```") == "none");
  CHECK(code_in("```python\na") == "none");
  CHECK(code_in("```python a\n```") == "python:  a\n");
}

TEST_CASE("a program's first line keeps its indentation") {
  CHECK(code_in("```python\n\n  \n  a\n  b\n\n```") == "python:   a\n  b\n");
}

TEST_CASE("without a fence short text is the program") {
  CHECK(code_in(" a ") == "python: a\n");
  CHECK(code_in("") == "none");
  CHECK(code_in(std::string(4000, 'a')) == "python: " + std::string(4000, 'a') + "\n");
  CHECK(code_in(std::string(4001, 'a')) == "none");
}

TEST_CASE("what was thought is no answer") {
  CHECK(code_in("```python\na\n```</think>b") == "python: b\n");
  CHECK(code_in("a</think>```python\nb\n```<|begin_of_solution|>") == "none");
  CHECK(answer_part(" x<|begin_of_solution|>y</think> z ") == "z");
}

TEST_CASE("outputs are compared by lines, words and exact decimals") {
  CHECK(same_output("1 2\n3\n", "1  2 \n 3"));
  CHECK(same_output("\n\n1\r\n2\r\n", "1\n2"));
  CHECK(same_output("", " \n"));
  CHECK_FALSE(same_output("1\n2", "1 2"));
  CHECK_FALSE(same_output("1", ""));
  CHECK_FALSE(same_output("", "1"));
  CHECK_FALSE(same_output("1 2", "1"));
  CHECK_FALSE(same_output("1\n\n2", "1\n2"));
  CHECK(same_output("1.50 -0 +7 .5 2e3 100", "1.5 0 7 0.5 2000 1E2"));
  CHECK(same_output("0.1000000000000000000000000000000000000001", "1000000000000000000000000000000000000001e-40"));
  CHECK_FALSE(same_output("0.1", "0.10000000000000001"));
  CHECK_FALSE(same_output("-1", "1"));
  CHECK_FALSE(same_output("1e99999999999999999999", "2"));
  CHECK_FALSE(same_output("1..5", "1.5"));
  CHECK_FALSE(same_output(".", "0"));
  CHECK_FALSE(same_output("e5", "0"));
}

TEST_CASE("a tolerance is for numbers that are not whole, absolute below 1 and a share above") {
  CHECK(same_output("0.3333 x\n2", "0.33333333 x\n2.0", 1e-3));
  CHECK(same_output("3", "2.9995", 1e-3));
  CHECK(same_output("+1e3 -0.0004", "1000.9 0", 1e-3));
  CHECK(same_output("1e400 nan inf", "1e400 nan inf", 1e-3));
  CHECK_FALSE(same_output("0.3333", "0.33333333", 1e-6));
  CHECK_FALSE(same_output("0.3333", "0.33333333"));
  CHECK_FALSE(same_output("0.0015", "0", 1e-3));
  CHECK_FALSE(same_output("1001.1", "1000.0", 1e-3));
  CHECK_FALSE(same_output("1000000", "1000001", 1e-3));  // a count
  CHECK_FALSE(same_output("nan", "1.5", 1));
  CHECK_FALSE(same_output("1e400", "2.5", 1));
  CHECK_FALSE(same_output("-1.5", "1.5", 1e-3));
  CHECK_FALSE(same_output("1.5x", "1.5y", 1));
  CHECK_FALSE(same_output("1.5 1.5", "1.5", 1));
}

TEST_CASE("a row's tests are read, or it says why not") {
  const auto read = [](const char* text) { return read_code_cases(Json::parse(text)); };
  CHECK(read(R"({"case_type": "input", "test_cases": "[{\"stdin\": \"a\", \"expected_stdout\": \"b\"}]"})")
            .streams[0]
            .expected == "b");
  CHECK(read(R"({"test_case_function": "None", "test_cases": [{"input": "a", "output": "b"}]})").kind ==
        CodeCases::Kind::kStreams);
  const CodeCases calls =
      read(R"({"test_case_function": "f", "test_cases": [{"stdin": "1", "expected_stdout": "2"}]})");
  CHECK(calls.kind == CodeCases::Kind::kCalls);
  CHECK(calls.function == "f");
  const CodeCases check = read(
      R"({"case_type": "check_based", "test_cases": [{"assert_code": "assert c", "entry_point": "e", "import_prefix": "i"}]})");
  CHECK(check.kind == CodeCases::Kind::kCheck);
  CHECK(check.tests[0].code + check.tests[0].entry_point + check.tests[0].import_prefix == "assert cei");
  CHECK(read(R"({"case_type": "text", "test_cases": ["assert t"]})").tests[0].code == "assert t");
  CHECK_THAT(error_of([&] { read("{}"); }), Catch::Contains("test_cases = null: must be a list"));
  CHECK_THAT(error_of([&] { read(R"({"test_cases": []})"); }), Catch::Contains("not empty"));
  CHECK_THAT(error_of([&] { read(R"({"test_cases": "[{"})"); }), Catch::Contains("test_cases"));
  CHECK_THAT(error_of([&] { read(R"({"test_cases": [{"stdin": 3}]})"); }),
             Catch::Contains("stdin = 3: must be a string"));
  CHECK_THAT(error_of([&] { read(R"({"test_cases": [1]})"); }), Catch::Contains("stdin"));
  CHECK_THAT(error_of([&] { read(R"({"case_type": "assert", "test_cases": [{}]})"); }), Catch::Contains("assert_code"));
  const auto rule = make_reward(args_of(CodeSandboxArgs()), 0, "");
  CHECK_NOTHROW(rule->check_row(Json::parse(R"({"case_type": "assert", "test_cases": ["assert 1"]})")));
  CHECK_THROWS_WITH(rule->check_row(Json::object()), Catch::Contains("test_cases = null"));
}

}  // namespace roll
