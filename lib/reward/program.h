// A user's program that scores or judges responses: a child process that answers each line of JSON with a line, stays
// alive, and is restarted after a failure. The reward types command and python and the judge in command_judge.cpp use
// it. command.h describes the protocol and which failures end the run.
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

/// How messages name a program, and how it is started.
struct ProgramWords {
  std::string key = "command";  // configuration key of the program
  std::string shown{};          // "key = value" for messages; "": the command's first two words (others may be secret)
  double start_s = 0;           // seconds for its answer to the line {} at start, a JSON object; 0: it is not asked
  std::string sandbox{};        // runs in a sandbox, as this configuration key requests; "": no sandbox
};

/// The program starts with the first start(), ask() or ask_all(). Not thread-safe: one object, and one process, per
/// thread.
class RewardProgram {
 public:
  /// `command`: program and arguments. `context` has the time limit and the prefix of keys in messages. Throws
  /// UserError if `command` is empty.
  RewardProgram(const std::vector<std::string>& command, const RuleContext& context, ProgramWords words = {});

  /// Throws UserError if the program is missing or not executable, the command is one string with spaces, an
  /// interpreter's script is missing, or a requested sandbox is not possible. Does not run the user's program.
  void check_files() const;

  /// Starts the program unless it runs. Returns its answer to {} (see start_s; an empty object if it is not asked).
  /// Throws UserError if it does not start or answer in time.
  const Json& start();
  /// Sends `question`, an object, with an "id" as first member, and waits for the answer, at most timeout_s. `parse`
  /// parses the answer's line; `id` is the question's. Returns the parsed result, or a failed reward. Throws UserError
  /// if the program is broken, as described in command.h.
  RewardResult ask(const Json& question, const std::function<Reply(std::string_view line, int64_t id)>& parse);
  /// Sends a list of questions as one line {"id", "questions": [...]} and waits at most timeout_s per question. Returns
  /// one result per question, in order; if the whole line fails, the same failed reward for each. Throws like ask().
  std::vector<RewardResult> ask_all(Json questions);

 private:
  std::optional<RewardResult> exchange(const Json& question, double timeout_s, std::string& line);
  std::optional<RewardResult> reply_fault(const Reply& reply);
  template <class F>
  void start_with(const F& start) const;
  void count_failure(const std::string& problem);
  RewardResult failed(RewardFailure kind, const std::string& problem);
  [[noreturn]] void broken(const std::string& problem);
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
