// Reads the tests of a coding row, from ROLL's columns case_type, test_case_function and test_cases.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

struct CodeCases {
  enum class Kind {
    kStreams,  // standard input -> expected standard output
    kCalls,    // a function's arguments (one JSON value per line) -> expected result
    kTests,    // Python with asserts, or functions test_*
    kCheck,    // Python with a function check(candidate)
    kText      // Python with asserts about the response's text
  };
  struct Stream {
    std::string input, expected;
  };
  struct Test {
    std::string code, entry_point, import_prefix;
  };
  Kind kind = Kind::kStreams;
  std::string function;  // for kCalls
  std::vector<Stream> streams;
  std::vector<Test> tests;  // for kTests, kCheck and kText
};

/// Reads a row's cases. case_type is "assert", "pytest", "check_based" or "text". Any other type has cases {"stdin",
/// "expected_stdout"} (or "input" and "output"), which call a function if test_case_function names one. test_cases is a
/// list, or its JSON text. UserError, with the reason: the row cannot judge a program.
CodeCases read_code_cases(const Json& row);

}  // namespace roll
