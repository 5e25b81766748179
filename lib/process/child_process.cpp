#include "process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <thread>

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "process/pipe_signal.h"
#include "process/process_tree.h"

namespace roll {

namespace {

using Clock = ChildProcess::Clock;
constexpr size_t kStderrTail = 4096;
constexpr double kLongestKill_s = 5;                                            // a process in a disk access dies late
constexpr std::chrono::microseconds kShortestPause{20}, kLongestPause{50'000};  // between polls of the pipe

constexpr const char* kReporter = "\"$@\" 3>&-; echo $? >&3";
// The watcher. Its input ends when the process that started it ends or closes the pipe. As the subreaper it adopts the
// orphans of killed processes, so its list of children finds all descendants in the end. Waiting for `sleep` reaps
// them.
constexpr const char* kWatcher =
    "read -r end; while read -r all </proc/$$/task/$$/children; [ \"$all\" ]; do kill -9 $all; sleep 0.003; done";

Clock::time_point deadline_after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Pipe child_pipe() {
  return make_pipe("pipe for a child process");
}

void never_block(const Descriptor& fd) {
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

/// Descriptors of this process that become 0, 1, 2 and kStatusFd of a new one.
using FirstDescriptors = std::array<int, 4>;

/// Runs in the child between fork and exec: async-signal-safe calls only.
[[noreturn]] void exec_program(const std::vector<char*>& argv, const std::vector<char*>& variables,
                               const FirstDescriptors& descriptors) {
  for (size_t i = 0; i < descriptors.size(); ++i) dup2(descriptors[i], static_cast<int>(i));
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM}) signal(number, SIG_DFL);
  execve(argv[0], argv.data(), variables.data());
  _exit(127);
}

/// Becomes the watcher, after starting the program as its child. Async-signal-safe, like exec_program().
[[noreturn]] void exec_watched_program(const std::vector<char*>& program, const std::vector<char*>& watcher,
                                       const std::vector<char*>& variables, const FirstDescriptors& program_descriptors,
                                       const FirstDescriptors& watcher_descriptors) {
  setpgid(0, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // survives exec
  // Not fork(): its handlers may wait for threads that exist in our parent only.
  const auto pid = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (pid < 0) _exit(127);
  if (pid > 0) exec_program(watcher, variables, watcher_descriptors);
  setpgid(0, 0);  // a program's signals to its own group miss the watcher
  exec_program(program, variables, program_descriptors);
}

bool is_set_in(const std::vector<std::string>& variables, std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('=') + 1);
  return std::ranges::any_of(variables, [&](const std::string& variable) { return variable.starts_with(name); });
}

bool is_executable(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return false;
  if (!S_ISREG(found.st_mode)) errno = EACCES;
  return S_ISREG(found.st_mode) && ::access(file.c_str(), X_OK) == 0;
}

/// Reaps the child if it ends within `seconds`; returns whether it did.
bool ends_within(pid_t child, double seconds) {
  const auto deadline = deadline_after(seconds);
  while (waitpid(child, nullptr, WNOHANG) == 0) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  return true;
}

/// Kills all descendants of `root`, which must be alive: processes started or orphaned meanwhile stay below it, and the
/// next pass finds them. The kernel's list of children may miss some while others are reaped, so it stops only after
/// two empty passes.
void kill_below(pid_t root) {
  const auto deadline = deadline_after(kLongestKill_s);
  for (int num_empty = 0; num_empty < 2 && Clock::now() < deadline;) {
    const std::vector<pid_t> descendants = processes_below(root);
    for (const pid_t pid : descendants) ::kill(pid, SIGKILL);
    num_empty = descendants.empty() ? num_empty + 1 : 0;
    if (!descendants.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

std::string check_executable(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    if (!is_executable(program)) throw user_error("{}: cannot be started{}", program, errno_text());
    return program;
  }
  std::istringstream folders(env("PATH").value_or("/usr/bin:/bin"));
  int error = ENOENT;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + program;
    if (is_executable(file)) return file;
    if (errno == EACCES) error = errno;
  }
  errno = error;
  throw user_error("{}: cannot be started{}", program, errno_text());
}

std::vector<std::string> with_status_report(const std::vector<std::string>& command) {
  std::vector<std::string> words{"/bin/sh", "-c", kReporter, "sh"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

ChildProcess::ChildProcess(StartedProgram started)
    : pid_(started.pid),
      ends_all_(started.ends_all),
      guard_(std::move(started.guard)),
      input_(std::move(started.input)),
      output_(std::move(started.output)),
      errors_(std::move(started.errors)),
      status_(std::move(started.status)) {
  for (const Descriptor* fd : {&input_, &output_, &errors_, &status_}) never_block(*fd);
}

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::vector<std::string>& variables) {
  if (command.empty()) throw user_error("no program to start");
  check_executable(command[0]);
  std::vector<std::string> words = with_status_report(command), watcher{"/bin/sh", "-c", kWatcher},
                           own_variables = variables;
  std::vector<char*> argv = pointers_to(words), watcher_argv = pointers_to(watcher),
                     environment = pointers_to(own_variables);
  environment.pop_back();
  for (char** entry = environ; *entry; ++entry)
    if (!is_set_in(variables, *entry)) environment.push_back(*entry);
  environment.push_back(nullptr);
  Pipe in = child_pipe(), out = child_pipe(), err = child_pipe(), status = child_pipe(), watcher_pipe = child_pipe();
  const Descriptor null_device(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null_device) throw system_error("/dev/null: cannot be opened{}", errno_text());
  const int null_fd = null_device.get();
  pid_ = fork();
  if (pid_ == 0)
    exec_watched_program(argv, watcher_argv, environment,
                         {in.read_end.get(), out.write_end.get(), err.write_end.get(), status.write_end.get()},
                         {watcher_pipe.read_end.get(), null_fd, null_fd, null_fd});
  if (pid_ < 0) throw system_error("{}: cannot be started{}", command[0], errno_text());
  setpgid(pid_, pid_);  // parent and child both call it, to avoid a race
  input_ = std::move(in.write_end);
  output_ = std::move(out.read_end);
  errors_ = std::move(err.read_end);
  status_ = std::move(status.read_end);
  watcher_pipe_ = std::move(watcher_pipe.write_end);
  for (const Descriptor* fd : {&input_, &output_, &errors_, &status_}) never_block(*fd);
}

ChildProcess::~ChildProcess() {
  kill();
}

void ChildProcess::kill() {
  if (pid_ < 0) return;
  has_ended();  // prefer its own exit status to our signal
  if (!ends_all_) kill_below(pid_);
  guard_.reset();
  watcher_pipe_.close();
  if (ends_all_ || !ends_within(pid_, kLongestKill_s)) {  // the watcher ends after it reaped the dead
    ::kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
  if (!exit_code_) exit_code_ = -SIGKILL;
}

bool ChildProcess::has_ended() {
  std::array<char, 16> text{};
  if (exit_code_) return true;
  const ssize_t n = read(status_.get(), text.data(), text.size() - 1);
  if (n < 0) return false;
  const int code = n == 0 ? 128 + SIGKILL : std::atoi(text.data());       // no status: the reporting shell was killed
  exit_code_ = code > 128 && code <= 128 + SIGRTMAX ? 128 - code : code;  // shells report 128 + signal
  return true;
}

bool ChildProcess::is_running() {
  read_output();
  unread_.clear();
  read_errors();
  return !has_ended();
}

std::string ChildProcess::end(double timeout_s) {
  const auto deadline = deadline_after(timeout_s);
  while (!has_ended() && Clock::now() < deadline) {
    read_errors();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  read_errors();
  kill();
  const int code = *exit_code_;
  return code < 0 ? fmt::format("signal {} ({})", -code, strsignal(-code)) : fmt::format("exit status {}", code);
}

/// Reads once, at most one pipe buffer: a child that writes endlessly must not block us.
void ChildProcess::read_errors() {
  std::array<char, 65536> buffer;
  const ssize_t n = read(errors_.get(), buffer.data(), buffer.size());
  if (n > 0) stderr_tail_.append(buffer.data(), static_cast<size_t>(n));
  if (n == 0) errors_.close();
  if (stderr_tail_.size() > kStderrTail) stderr_tail_.erase(0, stderr_tail_.size() - kStderrTail);
}

/// Reads once, at most one pipe buffer.
void ChildProcess::read_output() {
  std::array<char, 65536> buffer;
  const ssize_t n = read(output_.get(), buffer.data(), buffer.size());
  if (n > 0) unread_.append(buffer.data(), static_cast<size_t>(n));
  if (n == 0) output_.close();
}

/// Writes a part of the question; its last character and newline only after is_handed_over_.
void ChildProcess::write_question() {
  const size_t end = is_handed_over_ ? question_.size() : num_to_hand_over_;
  if (num_written_ == end || !input_) return;
  const PipeSignalBlocked guard;
  const ssize_t n = write(input_.get(), question_.data() + num_written_, end - num_written_);
  if (n > 0) num_written_ += static_cast<size_t>(n);
  if (n < 0 && errno != EAGAIN && errno != EINTR) input_.close();  // answer() then sees the end of its output
}

/// Returns whether the program has read everything written so far.
bool ChildProcess::has_read_all() const {
  int left = 0;
  return !input_ || (ioctl(input_.get(), FIONREAD, &left) == 0 && left == 0);
}

ChildProcess::Outcome ChildProcess::ask(std::string_view line, double timeout_s, std::string& reply) {
  begin_ask(line, timeout_s);
  std::vector<pollfd> polls;
  while (true) {
    if (const auto outcome = go_on(reply)) return *outcome;
    polls.clear();
    add_polls(polls);
    poll_until(next_look_, polls);
  }
}

void ChildProcess::begin_ask(std::string_view line, double timeout_s) {
  question_ = std::string(line) + '\n';
  num_written_ = 0;
  num_to_hand_over_ = line.empty() ? 0 : line.size() - 1;
  is_handed_over_ = false;
  asked_ = Clock::now();
  deadline_ = deadline_after(timeout_s);
  next_look_ = asked_;
  read_output();
}

std::optional<ChildProcess::Outcome> ChildProcess::go_on(std::string& reply) {
  read_errors();
  read_output();
  if (!is_handed_over_) {
    const auto outcome = hand_over();
    if (outcome && *outcome != Outcome::kDone) reply = unread_.substr(0, unread_.find('\n'));
    if (outcome != Outcome::kDone) return outcome;
    is_handed_over_ = true;
    next_look_ = deadline_;
  }
  write_question();
  return answer(reply);
}

/// Returns kDone once the program has read all but the question's last character: output before that point cannot be an
/// answer. (A program that parses JSON may answer at the closing brace, before the newline.) No event reports that a
/// pipe was read, so this polls, less often the longer it takes.
std::optional<ChildProcess::Outcome> ChildProcess::hand_over() {
  if (!unread_.empty()) return Outcome::kUnasked;
  if (!input_ || !output_ || has_ended()) return Outcome::kEnded;
  write_question();
  const bool is_written = num_written_ == num_to_hand_over_;
  if (is_written && has_read_all()) return Outcome::kDone;
  const auto now = Clock::now();
  if (now >= deadline_) return Outcome::kTimeout;
  const auto pause = std::clamp<Clock::duration>((now - asked_) / 8, kShortestPause, kLongestPause);
  next_look_ = is_written ? std::min(now + pause, deadline_) : deadline_;
  return std::nullopt;
}

std::optional<ChildProcess::Outcome> ChildProcess::answer(std::string& reply) {
  if (has_ended()) read_output();  // output written just before the end
  const size_t newline = unread_.find('\n');
  if (newline == std::string::npos) {
    if (unread_.size() > kLongestLine) return Outcome::kTooLong;
    if (!output_ || has_ended()) return Outcome::kEnded;
    if (Clock::now() >= deadline_) return Outcome::kTimeout;
    return std::nullopt;
  }
  reply = unread_.substr(0, newline);
  unread_.erase(0, newline + 1);
  if (reply.size() > kLongestLine) return Outcome::kTooLong;
  if (unread_.empty()) return Outcome::kDone;
  reply = unread_.substr(0, unread_.find('\n'));
  return Outcome::kUnasked;
}

void ChildProcess::add_polls(std::vector<pollfd>& polls) const {
  for (const Descriptor* fd : {&output_, &errors_, &status_})
    if (*fd) polls.push_back({fd->get(), POLLIN, 0});
  const size_t end = is_handed_over_ ? question_.size() : num_to_hand_over_;
  if (input_ && num_written_ < end) polls.push_back({input_.get(), POLLOUT, 0});
}

void poll_until(ChildProcess::Clock::time_point end, std::vector<pollfd>& polls) {
  const auto longest = std::clamp<Clock::duration>(end - Clock::now(), Clock::duration::zero(), std::chrono::hours(24));
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(longest).count();
  const timespec limit{ns / 1'000'000'000, ns % 1'000'000'000};
  if (ppoll(polls.data(), polls.size(), &limit, nullptr) < 0 && errno != EINTR)
    throw system_error("poll on child processes{}", errno_text());
}

}  // namespace roll
