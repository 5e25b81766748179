// The tests of a data row, in ROLL's columns: case_type, test_case_function, test_cases.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

struct CodeCases {
  enum class Kind {
    kStreams,  // standard input to standard output
    kCalls,    // a function's arguments, a JSON value a line, to its result
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
  std::string function;  // of kCalls
  std::vector<Stream> streams;
  std::vector<Test> tests;  // of the last three
};

/// case_type "assert", "pytest", "check_based" and "text"; any other has cases {"stdin", "expected_stdout"} (or "input"
/// and "output"), and calls a function where test_case_function names one. test_cases is a list or a JSON string of
/// one. UserError: a row that cannot be judged by, and why.
CodeCases cases_of(const Json& row);

}  // namespace roll
