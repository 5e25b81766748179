// A child process that is asked line by line, kept alive, and started again after a failure: for rewards and judges
// that are programs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "process/child_process.h"
#include "reward/reply.h"
#include "reward/rule.h"

namespace roll {

/// How messages name a program, and whether it says when it is ready.
struct ProgramWords {
  std::string key = "command";  // that names the program
  std::string shown{};          // "key = value"; "": of the command, whose later words may be secret
  double start_s = 0;     // it answers {} with an object within so long, before its first question; 0: it does not
  std::string sandbox{};  // the key that asks for a sandbox; "": it runs without one
};

class RewardProgram {
 public:
  /// UserError: no program.
  RewardProgram(const std::vector<std::string>& command, const RuleContext& context, ProgramWords words = {});

  /// UserError: a program that is not there or may not be executed, words in one text, an interpreter's script that is
  /// not there.
  void check_files() const;

  /// Starts it where it does not run. Returns what it said when it was ready. UserError: it is not ready in time.
  const Json& start();
  /// Sends `question` with an "id" of its own in front; `parse` reads the answer's line. Failures and UserErrors as
  /// make_command() has them (command.h).
  RewardResult ask(const Json& question, const std::function<Reply(std::string_view line, int64_t id)>& parse);
  /// Asks a list of questions with one line, which has their number times the time limit; one result for each.
  std::vector<RewardResult> ask_all(Json questions);

 private:
  std::optional<RewardResult> exchange(const Json& question, double timeout_s, std::string& line);
  std::optional<RewardResult> fault_of(const Reply& reply);
  template <class F>
  void start_with(const F& start) const;
  void count_failure(const std::string& what);
  RewardResult failed(RewardFailure kind, const std::string& what);
  [[noreturn]] void broken(const std::string& what);
  RewardResult late();

  std::vector<std::string> command_;
  double timeout_s_;
  std::string where_;
  ProgramWords words_;
  std::shared_ptr<SharedByWorkers> shared_;
  std::atomic<bool>& has_answered_;
  std::optional<ChildProcess> child_;
  Json ready_ = Json::object();
  int64_t id_ = 0, failures_in_a_row_ = 0;
};

}  // namespace roll
