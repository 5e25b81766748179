// A child program that answers lines: one line on standard output for each line on standard input, with limits on time
// and length. Rewards and environments use it. kill() also kills every descendant, even after setsid or a double fork:
// a process above the program is a subreaper (PR_SET_CHILD_SUBREAPER), so all orphans stay in the tree that /proc
// shows. Unlike a PID namespace it needs no privileges; unlike a mark in the environment, descendants cannot drop it.
//
// The process above is the watcher, a shell. It kills the tree if this process ends without doing so (SIGKILL, out of
// memory). It notices that when its pipe from this process closes.
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

/// Returns the path of `program`, looked up on PATH if it has no slash. UserError: it is missing or not executable.
std::string check_executable(const std::string& program);

/// A program that other code started: with the command from with_status_report(), and the other end of `status` as its
/// descriptor kStatusFd.
struct StartedProgram {
  pid_t pid = -1;
  Descriptor input, output, errors, status;
  bool ends_all = false;          // `pid` is process 1 of a PID namespace: its end kills all descendants
  std::shared_ptr<void> guard{};  // released just before `pid` is reaped
};

inline constexpr int kStatusFd = 3;

/// Returns the words that run `command` in a shell, which writes its exit status to kStatusFd.
std::vector<std::string> with_status_report(const std::vector<std::string>& command);

/// Returns a null-terminated pointer array for execve(). `texts` must outlive it.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ChildProcess(StartedProgram started);
  /// Starts `command` (program, found on PATH, and its arguments). `variables` ("NAME=value") override this process's
  /// environment. UserError: the program does not exist or may not be executed.
  explicit ChildProcess(const std::vector<std::string>& command, const std::vector<std::string>& variables = {});
  /// Calls kill().
  ~ChildProcess();

  /// Result of a question. After a result other than kDone, only kill() may be called.
  /// kDone     `reply` is the answer
  /// kTimeout  no answer in time
  /// kEnded    the program ended, or closed its input or output, before it answered
  /// kTooLong  the answer is longer than kLongestLine
  /// kUnasked  a second line, or a line before the question was read (`reply` is that line, or its beginning)
  enum class Outcome { kDone, kTimeout, kEnded, kTooLong, kUnasked };
  static constexpr size_t kLongestLine = 1 << 20;

  /// Writes `line` and a newline, and waits for one line in `reply`. Reads output while it writes.
  Outcome ask(std::string_view line, double timeout_s, std::string& reply);

  /// ask() without blocking: call begin_ask(), then go_on() whenever a descriptor of add_polls() is ready or
  /// next_look() has passed, until go_on() returns an outcome.
  void begin_ask(std::string_view line, double timeout_s);
  std::optional<Outcome> go_on(std::string& reply);
  void add_polls(std::vector<pollfd>& polls) const;
  Clock::time_point next_look() const { return next_look_; }

  /// Returns whether the program still runs, and discards its output. For programs that are never asked.
  bool is_running();

  /// Sends SIGKILL to the program and all its descendants, and reaps it.
  void kill();

  /// Waits up to timeout_s for the program to end, then kills it. Returns "exit status 3" or "signal 9 (Killed)".
  std::string end(double timeout_s);

  /// Returns the last bytes (at most 4096) of its standard error so far.
  const std::string& stderr_tail() const { return stderr_tail_; }
  /// Returns output read so far that is not yet a whole line.
  const std::string& unread() const { return unread_; }
  /// Returns the exit status, or -signal; nullopt while it runs.
  std::optional<int> exit_code() const { return exit_code_; }

 private:
  std::optional<Outcome> hand_over();
  std::optional<Outcome> answer(std::string& reply);
  void write_question();
  void read_output();
  void read_errors();
  bool has_read_all() const;
  bool has_ended();

  pid_t pid_ = -1;  // the watcher, or process 1 of a PID namespace
  bool ends_all_ = false;
  std::shared_ptr<void> guard_;
  Descriptor input_, output_, errors_, status_;
  Descriptor watcher_pipe_;  // pipe to the watcher; closing it makes the watcher kill the tree
  std::string unread_;
  std::string stderr_tail_;
  std::string question_;         // including its newline
  size_t num_written_ = 0;       // bytes of question_ written
  size_t num_to_hand_over_ = 0;  // bytes to be read before is_handed_over_: all but the last character
  bool is_handed_over_ = false;
  Clock::time_point asked_{}, deadline_{}, next_look_{};
  std::optional<int> exit_code_;
};

/// Waits until a descriptor is ready or the time `look` has come. SystemError: ppoll fails.
void poll_until(ChildProcess::Clock::time_point look, std::vector<pollfd>& polls);

}  // namespace roll
