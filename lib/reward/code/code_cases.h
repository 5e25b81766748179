// Reads the test cases of a data row with a coding problem, from ROLL's columns case_type, test_case_function and
// test_cases. code_judge.h runs them.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

/// The test cases of one row, all of one kind.
struct CodeCases {
  enum class Kind {
    kStreams,  // standard input -> expected standard output
    kCalls,    // a function's arguments (one JSON value per line) -> expected result
    kTests,    // Python code with assert statements or functions test_*
    kCheck,    // Python code that defines check(candidate), which is called with the program's function
    kText      // Python code with assert statements about `response`, the response's text; no program runs
  };
  /// A case of kStreams or kCalls: standard input or arguments, and the expected output or result.
  struct Stream {
    std::string input, expected;
  };
  /// A case of kTests, kCheck or kText.
  struct Test {
    std::string code;           // Python
    std::string entry_point;    // kCheck: name of the program's function that is passed to check()
    std::string import_prefix;  // Python code put before the program, such as imports; "": none
  };
  Kind kind = Kind::kStreams;
  std::string function;         // kCalls: name of the program's function to call
  std::vector<Stream> streams;  // empty unless kStreams or kCalls
  std::vector<Test> tests;      // empty unless kTests, kCheck or kText
};

/// Reads a row's cases. `test_cases` is a list, or its JSON text; `case_type` selects the kind: "assert" and "pytest"
/// are kTests, "check_based" is kCheck, "text" is kText. With any other or no case_type each case is {"stdin",
/// "expected_stdout"} (or "input" and "output"): kCalls if test_case_function names a function, else kStreams.
/// Throws UserError, with the reason, if test_cases is missing or empty, a case is malformed, or a test asserts
/// nothing.
CodeCases read_code_cases(const Json& row);

}  // namespace roll
