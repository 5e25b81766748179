// A program that answers lines: standard input and output on pipes, one line out for each line in. Waits and lines have
// limits. Killing it kills whatever it started, children that went their
// own way (setsid, double fork) included: a shell above it is made the one to which Linux hands all of its orphans
// (PR_SET_CHILD_SUBREAPER), so that nothing leaves the tree that /proc shows. That needs no privileges, where a
// namespace of processes does, and does not depend on what the children keep, as a mark in their environment would.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace roll {

/// UserError, with the reason, unless `program` is a file or found on PATH, and may be executed.
void check_executable(const std::string& program);

class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts `command` (program, found on PATH, and its arguments) with these variables ("NAME=value") beside this
  /// process's own. UserError as check_executable().
  explicit ChildProcess(const std::vector<std::string>& command, const std::vector<std::string>& variables = {});
  /// Kills all of it.
  ~ChildProcess();

  /// kDone: one line was answered. All others leave it in a state that only kill() ends:
  /// kTimeout  no answer yet
  /// kEnded    it ended, or closed its input or output, first
  /// kTooLong  an answer longer than kLongestLine
  /// kUnasked  more than one line, or one before the question was read (`reply` is that line, or its beginning)
  enum class Outcome { kDone, kTimeout, kEnded, kTooLong, kUnasked };
  static constexpr size_t kLongestLine = 1 << 20;

  /// Writes `line` and a newline and waits for one line in `reply`. Output is read while input is written.
  Outcome ask(std::string_view line, double timeout_s, std::string& reply);

  /// Whether it runs, of one that is never asked: what it prints is thrown away.
  bool is_running();

  /// SIGKILL to all of it, then reaps.
  void kill();

  /// Waits up to timeout_s for the end, then kills. "exit status 3" or "signal 9 (Killed)".
  std::string end(double timeout_s);

  /// The last bytes (at most 4096) of its standard error; what came so far.
  const std::string& stderr_tail() const { return stderr_tail_; }
  /// What it printed that is no whole line, as far as it is read.
  const std::string& unread() const { return unread_; }
  /// 0 for success, -signal for a signal; nothing while it runs.
  std::optional<int> exit_code() const { return exit_code_; }

 private:
  Outcome hand_over(std::string_view line, Clock::time_point deadline);
  Outcome answer_to(std::string_view end, Clock::time_point deadline, std::string& reply);
  void exchange(std::string_view& to_write, Clock::duration longest);
  void write_some(std::string_view& text);
  void read_output();
  void read_errors();
  bool has_read_all() const;
  bool has_ended();

  pid_t pid_ = -1;  // of the shell above it
  Descriptor input_, output_, errors_, status_;
  std::string unread_;
  std::string stderr_tail_;
  std::optional<int> exit_code_;
};

}  // namespace roll
