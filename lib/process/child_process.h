// ChildProcess runs a child program that answers questions, for rewards and environments: the program writes one line
// to standard output for each line on standard input. Time and length of answers are limited.
//
// kill() also kills every descendant of the program, even after setsid or a double fork. For this the program's parent
// is a shell of ours, the watcher. It is a subreaper (PR_SET_CHILD_SUBREAPER), so all orphans stay its descendants,
// which /proc lists. Unlike a PID namespace this needs no privileges. If this process ends without killing the program
// (SIGKILL, out of memory), the watcher's pipe from this process closes, and the watcher kills all descendants.
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

/// Returns the path of the executable `program`: the argument itself if it has a slash, else the first match on PATH.
/// Throws UserError if it is missing or not executable.
std::string check_executable(const std::string& program);

/// A program that other code (the sandbox) has started, for ChildProcess. It must run the command from
/// with_status_report(), with the write end of the pipe `status` as its descriptor kStatusFd.
struct StartedProgram {
  pid_t pid = -1;
  Descriptor input, output, errors;  // our ends of the pipes to standard input, output and error
  Descriptor status;                 // read end of the pipe for the exit status
  bool ends_all = false;             // true: `pid` is process 1 of a PID namespace, whose end kills all descendants
  std::shared_ptr<void> guard{};     // an object that must live while `pid` runs; released just before `pid` is reaped
};

inline constexpr int kStatusFd = 3;

/// Returns a command that runs `command` in a shell and writes its exit status as text to the descriptor kStatusFd.
std::vector<std::string> with_status_report(const std::vector<std::string>& command);

/// Returns pointers to the texts and a final nullptr, for execve(). `texts` must outlive them.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

/// Not thread-safe.
class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  /// Takes over a program that is running already.
  explicit ChildProcess(StartedProgram started);
  /// Starts `command`: the program, which is looked up on PATH, and its arguments. It gets this process's environment,
  /// in which `variables` ("NAME=value") are added or replaced. Throws UserError if the program does not exist or may
  /// not be executed. Throws SystemError if the system refuses.
  explicit ChildProcess(const std::vector<std::string>& command, const std::vector<std::string>& variables = {});
  /// Calls kill().
  ~ChildProcess();

  /// Result of a question. After a result other than kDone, the program can only be ended, by kill() or end().
  ///  - kDone: `reply` is the answer.
  ///  - kTimeout: no answer came in time.
  ///  - kEnded: the program ended, or closed its input or output, before it answered.
  ///  - kTooLong: the answer is longer than kLongestLine.
  ///  - kUnasked: the program wrote a second line, or wrote before it had read the question; `reply` is that line, or
  ///    as much as was read.
  enum class Outcome { kDone, kTimeout, kEnded, kTooLong, kUnasked };
  static constexpr size_t kLongestLine = 1 << 20;  // bytes of the longest answer

  /// Asks a question: writes `line` and a newline, waits up to `timeout_s` for one line, and stores it in `reply`
  /// without its newline. `line` must not hold newlines.
  Outcome ask(std::string_view line, double timeout_s, std::string& reply);

  // ask() without blocking: call begin_ask(), then go_on() again and again until it returns an outcome. Between the
  // calls, wait until a descriptor of add_polls() is ready, or the time next_look() has come (PollSet does that).
  /// Begins a question, like ask(); the previous one must have its outcome.
  void begin_ask(std::string_view line, double timeout_s);
  /// Reads and writes as far as possible at once. Returns the outcome, with the answer in `reply`, or nullopt if the
  /// question is not decided yet.
  std::optional<Outcome> go_on(std::string& reply);
  /// Appends the program's descriptors with the events that go_on() waits for.
  void add_polls(std::vector<pollfd>& polls) const;
  /// Returns the time by which go_on() must be called even if no descriptor is ready.
  Clock::time_point next_look() const { return next_look_; }

  /// Returns true if the program still runs, and discards its output so far. Only for programs that are asked no
  /// questions.
  bool is_running();

  /// Sends SIGKILL to the program and all its descendants, and reaps it; does nothing if that was done before.
  void kill();

  /// Waits up to timeout_s for the program to end by itself, then calls kill(). Returns how it ended, in words: "exit
  /// status 3" or "signal 9 (Killed)".
  std::string end(double timeout_s);

  /// Returns the last 4096 bytes that were read of its standard error so far.
  const std::string& stderr_tail() const { return stderr_tail_; }
  /// Returns the output that was read but belongs to no answer: an incomplete line, or lines that nobody asked for.
  const std::string& unread() const { return unread_; }
  /// Returns the program's exit status, or minus the number of the signal that killed it; nullopt until one of the
  /// calls above has noticed its end.
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

/// Waits until a descriptor in `polls` is ready, which sets its `revents`, or until the time `end`. Throws SystemError
/// if ppoll(2) fails.
void poll_until(ChildProcess::Clock::time_point end, std::vector<pollfd>& polls);

}  // namespace roll
