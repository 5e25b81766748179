// A child process with its standard input and output on pipes, in its own process group: killing it kills whatever it
// started, and it is always reaped (no zombies). Nothing waits longer than it was told.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

class ChildProcess {
 public:
  /// Starts `command` (program, found on PATH, and its arguments). UserError when it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& command);
  /// Kills the group if it still runs, and reaps.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  enum class Outcome { kDone, kTimeout, kEnded };

  /// Writes `line` and a newline and waits for one line in `reply`. kTimeout after timeout_s: the child still runs and
  /// may yet answer, so kill it. kEnded: it closed its output first. Output is read while input is written.
  Outcome ask(std::string_view line, double timeout_s, std::string& reply);

  /// Writes `input`, closes the child's input, reads all its output until it ends. kDone, or kTimeout.
  Outcome finish(std::string_view input, double timeout_s, std::string& output);

  /// SIGKILL to the whole group, then reaps. Nothing if it has been reaped.
  void kill();

  /// Waits up to timeout_s for the end, then kills. "exit status 3" or "signal 9 (Killed)".
  std::string end(double timeout_s);

  /// The last bytes (at most 4096) of its standard error; what came so far.
  const std::string& stderr_tail() const { return stderr_tail_; }
  /// 0 for success, -signal for a signal; nothing while it runs.
  std::optional<int> exit_code() const { return exit_code_; }
  pid_t pid() const { return pid_; }

 private:
  struct Exchange;
  Outcome exchange(Exchange& what, double timeout_s);
  void write_some(Exchange& what);
  bool read_output(std::string& into);
  void read_errors();
  bool reap(bool wait);
  void close_input();

  pid_t pid_ = -1;
  int input_ = -1, output_ = -1, errors_ = -1;
  std::string unread_;  // output behind the last line that was asked for
  std::string stderr_tail_;
  std::optional<int> exit_code_;
};

}  // namespace roll
