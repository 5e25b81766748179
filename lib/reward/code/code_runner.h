// Runs the program of a response, in sandboxes of this machine or on a server.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "reward/code/code_sandbox.h"
#include "reward/code/code_text.h"
#include "reward/reward.h"

namespace roll {

/// How a program, or the tests of one, ended.
struct CodeRun {
  bool ended_well = false;
  std::string output;                    // any bytes
  std::string how;                       // it did not end well
  bool is_late = false;                  // timed out, so that no time is left for other cases
  std::optional<RewardFailure> failure;  // it could not be run, which no program can cause; `how` says why
  std::optional<double> retry_after_s{};

  static CodeRun failed(RewardFailure failure, const std::string& why) { return {.how = why, .failure = failure}; }
};

/// Not thread-safe.
class CodeRunner {
 public:
  virtual ~CodeRunner() = default;
  /// As RewardFunction::prepare().
  virtual void prepare() {}
  /// Known after prepare().
  virtual std::set<std::string> languages() const = 0;
  /// Begins the next response: compiles its program, and starts its time limit. ended_well is false where it does not
  /// compile.
  virtual CodeRun begin(const CodeBlock& program) = 0;
  /// Runs the program once, with this standard input.
  virtual CodeRun run(const std::string& input) = 0;
  /// Runs tests (python/harness.py describes `tests`) apart from the program, which becomes a module that begins with
  /// `prefix`. `with_program` false: tests of a text, without a program. The output's last line is the verdict.
  virtual CodeRun run_tests(const Json& tests, bool with_program, const std::string& prefix, int64_t num_cases) = 0;
  /// As run_tests(), but in one process with the program, as plain Python: a program that fails there is wrong, one
  /// that passes may have tampered with the tests.
  virtual CodeRun run_together(const Json& tests, const std::string& prefix, int64_t num_cases) = 0;
};

std::unique_ptr<CodeRunner> make_local_runner(const CodeSandboxArgs& args, const RuleContext& context);
/// UserError: a code_url that is none.
std::unique_ptr<CodeRunner> make_remote_runner(const CodeSandboxArgs& args, const RuleContext& context);

}  // namespace roll
