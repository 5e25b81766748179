#include "reward/code/code_cases.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "reward/row_columns.h"

namespace roll {

namespace {

std::string read_text(const Json& object, std::initializer_list<const char*> keys, const char* otherwise) {
  for (const char* key : keys) {
    if (!object.is_object() || !object.contains(key) || object[key].is_null()) continue;
    if (!object[key].is_string()) throw user_error("{} = {}: must be a string", key, shown_text(to_line(object[key])));
    return object[key].get<std::string>();
  }
  if (otherwise == nullptr)
    throw user_error("test_cases = {}: a case lacks {}", shown_text(to_line(object)), *keys.begin());
  return otherwise;
}

Json read_case_list(const Json& row) {
  Json cases = column_json(row, "test_cases");
  if (!cases.is_array() || cases.empty())
    throw user_error("test_cases = {}: must be a list of cases that is not empty, or its JSON text",
                     shown_text(to_line(cases)));
  return cases;
}

CodeCases::Test read_test(const Json& test) {
  if (test.is_string()) return {test.get<std::string>(), "candidate", ""};
  return {read_text(test, {"assert_code"}, nullptr), read_text(test, {"entry_point"}, "candidate"),
          read_text(test, {"import_prefix"}, "")};
}

/// Returns whether the code may contain an assertion, by these words (python/test_names.py looks closer).
bool may_assert(const std::string& code) {
  constexpr auto kWords = std::to_array<std::string_view>({"assert", "raise", "warns", "fail", "deprecated_call"});
  return std::ranges::any_of(kWords, [&](std::string_view word) { return code.find(word) != std::string::npos; });
}

}  // namespace

CodeCases read_code_cases(const Json& row) {
  const Json list = read_case_list(row);
  const std::string type = read_text(row, {"case_type"}, "");
  CodeCases cases;
  using enum CodeCases::Kind;
  cases.kind = type == "assert" || type == "pytest" ? kTests
               : type == "check_based"              ? kCheck
               : type == "text"                     ? kText
                                                    : kStreams;
  if (cases.kind != kStreams) {
    for (const Json& test : list) cases.tests.push_back(read_test(test));
    for (const CodeCases::Test& test : cases.tests) {
      if (!may_assert(test.code))
        throw user_error("test_cases = {}: a case asserts nothing, so every program would pass it; add an assertion",
                         shown_text(test.code));
    }
    return cases;
  }
  cases.function = read_text(row, {"test_case_function"}, "");
  if (!cases.function.empty() && cases.function != "None") cases.kind = kCalls;
  for (const Json& item : list)
    cases.streams.push_back({read_text(item, {"stdin", "input"}, nullptr),
                             read_text(item, {"expected_stdout", "expected_output", "output"}, nullptr)});
  return cases;
}

}  // namespace roll
