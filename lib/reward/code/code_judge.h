// Runs the test cases of a row on a program and counts those that pass (code_sandbox.h).
#pragma once

#include "reward/code/code_cases.h"
#include "reward/code/code_runner.h"

namespace roll {

/// The verdict on one response.
struct CodeVerdict {
  int64_t passed = 0, total = 0;
  std::string why;                       // about the first failing case
  std::optional<RewardFailure> failure;  // set if it could not be judged; `why` has the reason
  std::optional<double> retry_after_s{};

  std::string limit{};      // test step that is impossible in a separate process; "": none
  bool is_doubted = false;  // the program may have passed by guessing

  bool is_right() const { return passed == total; }
};

/// Judges a program. `is_complete`: run all cases; otherwise stop at the first failure and count the rest as failed.
/// `tolerance`: for numbers on standard output (same_output.h).
CodeVerdict judge_program(CodeRunner& runner, const CodeBlock& program, const CodeCases& cases, bool is_complete,
                          double tolerance);
/// Judges a response's text by kText cases, without running it.
CodeVerdict judge_text(CodeRunner& runner, const std::string& text, const CodeCases& cases, bool is_complete);

}  // namespace roll
