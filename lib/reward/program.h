// Runs a user's program that scores or judges responses. It is a child process that answers each line of JSON with a
// line and stays alive; after a failure it is started again. Used by the reward types command and python and by the
// judge in command_judge.cpp. command.h describes the protocol, and the failures that end the run.
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

/// Names of a program in messages, and options for its start.
struct ProgramOptions {
  std::string key = "command";  // configuration key of the program, for messages
  std::string shown{};          // "key = value", for messages; "": the command's first two words (others may be secret)
  double start_s = 0;     // if > 0, the new process must answer the line {} with a JSON object in this many seconds
  std::string sandbox{};  // configuration key that asks for a sandbox, for messages; "": runs without a sandbox
};

/// One process of the program. It starts with the first start(), ask() or ask_all(). Not thread-safe: each thread has
/// its own object, and so its own process.
class RewardProgram {
 public:
  /// `command`: program and arguments. `context`: the time limit, the prefix of keys in messages, and the workers'
  /// shared state. Throws UserError if `command` is empty.
  RewardProgram(const std::vector<std::string>& command, const RuleContext& context, ProgramOptions options = {});

  /// Throws UserError if the program is missing or not executable, the command is one string with spaces, an
  /// interpreter's script is missing, or a requested sandbox is not possible. Does not run the user's program.
  void check_files() const;

  /// Starts the program unless it runs. Returns its answer to {} (ProgramOptions::start_s); an empty object if start_s
  /// is 0. Throws UserError if it does not start, or does not answer with an object in time.
  const Json& start();
  /// Adds an "id" to `question`, an object, sends it and waits for the answer, at most timeout_s. `parse` gets the line
  /// of the answer and the question's id. Returns the result that it parsed, or a failed reward (reward.h). Throws
  /// UserError for the failures that end the run (command.h).
  RewardResult ask(const Json& question, const std::function<Reply(std::string_view line, int64_t id)>& parse);
  /// Sends `questions`, a list, as one line {"id", "questions": [...]}, and waits at most timeout_s x their number.
  /// Returns one result per question, in order; if the answer is unusable, the same failed reward for each. Throws like
  /// ask().
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
  ProgramOptions options_;
  std::shared_ptr<SharedByWorkers> shared_;
  std::atomic<bool>& has_answered_;
  std::optional<ChildProcess> child_;
  Json ready_ = Json::object();
  int64_t id_ = 0, failures_in_a_row_ = 0;
};

}  // namespace roll
