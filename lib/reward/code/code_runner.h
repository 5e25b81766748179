// Interface to run a response's program, in sandboxes on this machine (code_local.cpp) or a server (code_remote.cpp).
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

/// Result of running a program or its tests.
struct CodeRun {
  bool ended_well = false;
  std::string output;                    // any bytes
  std::string how;                       // reason if it did not end well
  bool is_late = false;                  // timed out: no time is left for other cases
  std::optional<RewardFailure> failure;  // set if it could not be run (not the program's fault); reason in `how`
  std::optional<double> retry_after_s{};

  static CodeRun failed(RewardFailure failure, const std::string& why) { return {.how = why, .failure = failure}; }
};

/// Not thread-safe: one object per thread.
class CodeRunner {
 public:
  virtual ~CodeRunner() = default;
  /// See RewardFunction::prepare(). UserError: no such Python, or the machine cannot isolate programs.
  virtual void prepare() {}
  /// Returns the languages it can run; valid after prepare().
  virtual std::set<std::string> languages() const = 0;
  /// Begins the next response: starts its time limit, compiles its program. ended_well is false if that fails.
  virtual CodeRun begin(const CodeBlock& program) = 0;
  /// Runs the program once with this standard input.
  virtual CodeRun run(const std::string& input) = 0;
  /// Runs `tests` (described in python/harness.py) in a process separate from the program, which becomes a module
  /// starting with `prefix`. Without `with_program`: tests of a text. The output's last line is the verdict.
  virtual CodeRun run_tests(const Json& tests, bool with_program, const std::string& prefix, int64_t num_cases) = 0;
  /// Runs tests and program in one process, as plain Python. A program that fails there is wrong; one that passes may
  /// have tampered with the tests.
  virtual CodeRun run_together(const Json& tests, const std::string& prefix, int64_t num_cases) = 0;
};

/// Makes a runner that uses sandboxes on this machine.
std::unique_ptr<CodeRunner> make_local_runner(const CodeSandboxArgs& args, const RuleContext& context);
/// Makes a runner that uses the server at code_url. UserError: code_url is no valid URL.
std::unique_ptr<CodeRunner> make_remote_runner(const CodeSandboxArgs& args, const RuleContext& context);

}  // namespace roll
