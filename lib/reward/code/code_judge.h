// Runs the test cases of a row on the program in a response and counts those that pass, for the reward type
// code_sandbox (code_sandbox.h).
#pragma once

#include "reward/code/code_cases.h"
#include "reward/code/code_runner.h"

namespace roll {

/// The verdict on one response.
struct CodeVerdict {
  int64_t passed = 0, total = 0;          // numbers of cases
  std::string why;                        // reason why the first failing case failed, or why `failure` is set; else ""
  std::optional<RewardFailure> failure;   // set if the response could not be judged; the counts are then meaningless
  std::optional<double> retry_after_s{};  // after a failure: pause in seconds that the server asks for

  // Used while judging; callers ignore them.
  std::string limit{};      // step of the tests that is impossible in a process of their own; "": all are possible
  bool is_doubted = false;  // the program may have passed by guessing expected values

  /// Returns whether every case passed. Valid only without `failure`.
  bool is_right() const { return passed == total; }
};

/// Judges a program by cases of any kind except kText. `runner`: its prepare() must have been called; this function
/// calls begin() and then runs the cases. `is_complete`: true: runs all cases; false: stops at the first failing case
/// and counts the rest as failed. `tolerance`: largest error of numbers on standard output (same_output.h).
CodeVerdict judge_program(CodeRunner& runner, const CodeBlock& program, const CodeCases& cases, bool is_complete,
                          double tolerance);
/// Judges a text by kText cases, whose asserts run in `runner`; the text itself is not run. `is_complete`: as for
/// judge_program().
CodeVerdict judge_text(CodeRunner& runner, const std::string& text, const CodeCases& cases, bool is_complete);

}  // namespace roll
