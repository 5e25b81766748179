// Runs the cases of a row and counts those that pass.
#pragma once

#include "reward/code/code_cases.h"
#include "reward/code/code_runner.h"

namespace roll {

/// The verdict on one response.
struct CodeVerdict {
  int64_t passed = 0, total = 0;
  std::string why;                       // the first case that does not pass
  std::optional<RewardFailure> failure;  // it could not be judged, and `why`
  std::optional<double> retry_after_s{};

  std::string limit{};      // what tests apart from the program could not do; "": nothing
  bool is_doubted = false;  // a program that guesses well may have passed

  bool is_right() const { return passed == total; }
};

/// `is_complete`: all cases; otherwise it stops at the first that fails, and the rest count as failed. `tolerance`: of
/// numbers on standard output (same_output.h).
CodeVerdict judge_program(CodeRunner& runner, const CodeBlock& program, const CodeCases& cases, bool is_complete,
                          double tolerance);
/// Cases about a text; nothing of it runs.
CodeVerdict judge_text(CodeRunner& runner, const std::string& text, const CodeCases& cases, bool is_complete);

}  // namespace roll
