// A child process that answers one line per question, stays alive, and is restarted after a failure. Rewards and judges
// that are programs use it.
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

/// Wording of messages about a program, and its handshake at start.
struct ProgramWords {
  std::string key = "command";  // configuration key of the program
  std::string shown{};          // "key = value"; "": key and first words of the command (later ones may be secret)
  double start_s = 0;           // seconds for its answer (an object) to {} at start; 0: no handshake
  std::string sandbox{};        // configuration key that requested a sandbox; "": no sandbox
};

class RewardProgram {
 public:
  /// UserError: the command is empty.
  RewardProgram(const std::vector<std::string>& command, const RuleContext& context, ProgramWords words = {});

  /// UserError: the program is missing or not executable, the command is one string with spaces, an interpreter's
  /// script is missing, or a requested sandbox is not possible.
  void check_files() const;

  /// Starts the program unless it runs, and returns its handshake answer. UserError: it does not start or answer in
  /// time.
  const Json& start();
  /// Sends `question` with an "id" in front; `parse` parses the answer's line. Errors: as in command.h.
  RewardResult ask(const Json& question, const std::function<Reply(std::string_view line, int64_t id)>& parse);
  /// Sends a list of questions as one line, with their number times the time limit. Returns one result per question.
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
