// What runs the program of a response: sandboxes of this machine, or a server.
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
  bool is_late = false;                  // no time is left for other cases
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
  /// The next response's program; its time begins. Does not end well where it does not compile.
  virtual CodeRun begin(const CodeBlock& program) = 0;
  /// Runs it once, as a whole.
  virtual CodeRun run(const std::string& input) = 0;
  /// Runs tests (python/harness.py says what `tests` holds) beside it as a module that begins with `prefix`; `program`
  /// false: about a text, without a program. The output's last line is the verdict.
  virtual CodeRun run_tests(const Json& tests, bool with_program, const std::string& prefix, int64_t num_cases) = 0;
  /// As run_tests(), but in one process, as plain Python runs them: a program that fails there is wrong, and one that
  /// passes may have lied.
  virtual CodeRun run_together(const Json& tests, const std::string& prefix, int64_t num_cases) = 0;
};

std::unique_ptr<CodeRunner> make_local_runner(const CodeSandboxArgs& args, const RuleContext& context);
/// UserError: a code_url that is none.
std::unique_ptr<CodeRunner> make_remote_runner(const CodeSandboxArgs& args, const RuleContext& context);

}  // namespace roll
