// Interface to run the program in a response and its tests: in sandboxes on this machine (code_local.cpp), or on a
// server with SandboxFusion's protocol (code_remote.cpp). code_judge.h uses it.
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
  bool ended_well = false;                // exit status 0, within time and limits
  std::string output;                     // standard output, any bytes
  std::string how;                        // reason if `ended_well` is false, for messages
  bool is_late = false;                   // the time limit passed: no time is left for other cases
  std::optional<RewardFailure> failure;   // set if it could not be run (not the program's fault); reason in `how`
  std::optional<double> retry_after_s{};  // after a failure: pause in seconds that the server asks for

  /// Returns a run with this failure and `why` as the reason.
  static CodeRun failed(RewardFailure failure, const std::string& why) { return {.how = why, .failure = failure}; }
};

/// Runs one program at a time: prepare() once, then for each response begin() and any of run(), run_tests() and
/// run_together(). Not thread-safe: one object per thread.
class CodeRunner {
 public:
  virtual ~CodeRunner() = default;
  /// Prepares for the first program. Throws UserError if the configured Python does not exist or start, or if this
  /// machine cannot isolate programs.
  virtual void prepare() {}
  /// Returns the languages that it can run, such as "python" and "cpp"; valid after prepare().
  virtual std::set<std::string> languages() const = 0;
  /// Selects the program of the next response. On this machine, starts the response's time limit (timeout_s, for all
  /// its runs) and compiles; the result has ended_well == false if that fails. On a server, every later run compiles
  /// and has its own time limit.
  virtual CodeRun begin(const CodeBlock& program) = 0;
  /// Runs the program of begin() once, with `input` as standard input.
  virtual CodeRun run(const std::string& input) = 0;
  /// Runs tests of the program of begin(), which must be in Python, in a process of their own. `tests`: {"kind":
  /// "calls", "assert", "check" or "text", ...} (sandbox/python/harness.py). `with_program`: false for tests of a text,
  /// without a program. `prefix`: Python code put before the program. `num_cases`: multiplies the processor time
  /// allowed. The last line of the output is a JSON verdict {"passed": n, "total": n, "error": text or null, ...}.
  virtual CodeRun run_tests(const Json& tests, bool with_program, const std::string& prefix, int64_t num_cases) = 0;
  /// Runs tests and program in one process, as plain Python. Parameters and output are those of run_tests(). A program
  /// that fails there is wrong; one that passes may have tampered with the tests.
  virtual CodeRun run_together(const Json& tests, const std::string& prefix, int64_t num_cases) = 0;
};

/// Makes a runner that uses sandboxes on this machine.
std::unique_ptr<CodeRunner> make_local_runner(const CodeSandboxArgs& args, const RuleContext& context);
/// Makes a runner that uses the server at code_url. `args.code_url` must be set. Throws UserError if it is
/// not a valid URL.
std::unique_ptr<CodeRunner> make_remote_runner(const CodeSandboxArgs& args, const RuleContext& context);

}  // namespace roll
