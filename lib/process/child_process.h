// A program that answers lines: standard input and output on pipes, one line out for each line in. Waits and lines have
// limits. Killing it kills whatever it started, children that went their
// own way (setsid, double fork) included: a process above it is made the one to which Linux hands all of its orphans
// (PR_SET_CHILD_SUBREAPER), so that nothing leaves the tree that /proc shows. That needs no privileges, where a
// namespace of processes does, and does not depend on what the children keep, as a mark in their environment would.
//
// The process above is a watcher: a shell that does the killing when this process ends without doing it (SIGKILL, the
// kernel out of memory). It learns of that by the end of a pipe that this process holds.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"

namespace roll {

/// Where `program` is. UserError, with the reason, unless it is a file or found on PATH, and may be executed.
std::string check_executable(const std::string& program);

/// A program that was started by other means: by the words of reporting() of its command, with the other end of
/// `status` as descriptor kStatusFd.
struct StartedProgram {
  pid_t pid = -1;
  Descriptor input, output, errors, status;
  bool ends_all = false;          // the end of `pid` is that of all that it started: it is the first of a namespace
  std::shared_ptr<void> guard{};  // kept until `pid` is reaped
};

inline constexpr int kStatusFd = 3;

/// The words that run `command` in a shell that tells its exit status.
std::vector<std::string> reporting(const std::vector<std::string>& command);

/// As execve() takes them.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ChildProcess(StartedProgram started);
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

  /// The same without waiting: begin_ask(), then go_on() whenever one of `polls` is ready or next_look() has come,
  /// until it gives an outcome.
  void begin_ask(std::string_view line, double timeout_s);
  std::optional<Outcome> go_on(std::string& reply);
  void add_polls(std::vector<pollfd>& polls) const;
  Clock::time_point next_look() const { return next_look_; }

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
  std::optional<Outcome> hand_over();
  std::optional<Outcome> answer(std::string& reply);
  void write_some();
  void read_output();
  void read_errors();
  bool has_read_all() const;
  bool has_ended();

  pid_t pid_ = -1;  // of the watcher above it, or the first of a namespace
  bool ends_all_ = false;
  std::shared_ptr<void> guard_;
  Descriptor input_, output_, errors_, status_;
  Descriptor leash_;  // its end is the watcher's sign
  std::string unread_;
  std::string stderr_tail_;
  std::string question_;         // with its newline
  size_t num_written_ = 0;       // of it
  size_t num_to_hand_over_ = 0;  // all but its last character; then is_handed_over_ is said
  bool is_handed_over_ = false;
  Clock::time_point asked_{}, deadline_{}, next_look_{};
  std::optional<int> exit_code_;
};

/// Until one of them is ready, or then. SystemError.
void poll_until(ChildProcess::Clock::time_point look, std::vector<pollfd>& polls);

}  // namespace roll
