#include "base/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.h"

namespace roll {

namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kStderrTail = 4096;

Clock::time_point deadline_after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw system_error("pipe for a child process{}", errno_text());
    read_end = ends[0], write_end = ends[1];
  }
};

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

void never_block(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/// In the child, between fork and exec: only async-signal-safe calls. Reports errno through `failure`.
[[noreturn]] void become(const std::vector<char*>& argv, int in, int out, int err, int failure) {
  setpgid(0, 0);
  dup2(in, 0), dup2(out, 1), dup2(err, 2);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL), signal(SIGINT, SIG_DFL), signal(SIGTERM, SIG_DFL);
  execvp(argv[0], argv.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t n = write(failure, &error, sizeof error);
  _exit(127);
}

/// A write to a child that is gone must be an error code, not a signal that kills us: SIGPIPE is blocked in this thread
/// and a pending one is taken away.
class PipeSignalBlocked {
 public:
  PipeSignalBlocked() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~PipeSignalBlocked() {
    const timespec now = {0, 0};
    if (sigismember(&before_, SIGPIPE) == 0)
      while (sigtimedwait(&pipe_, nullptr, &now) > 0) {
      }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  PipeSignalBlocked(const PipeSignalBlocked&) = delete;
  PipeSignalBlocked& operator=(const PipeSignalBlocked&) = delete;

 private:
  sigset_t pipe_, before_;
};

}  // namespace

/// One round of writing and reading; ends at the first newline, or at the end of the output.
struct ChildProcess::Exchange {
  std::string_view to_write;
  bool close_when_written = false;
  bool until_newline = true;
  std::string& read;
};

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
  if (command.empty()) throw user_error("no program to start");
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  Pipe in, out, err, failure;
  pid_ = fork();
  if (pid_ == 0) become(argv, in.read_end, out.write_end, err.write_end, failure.write_end);
  const std::string fork_error = pid_ < 0 ? errno_text() : "";
  for (int* fd : {&in.read_end, &out.write_end, &err.write_end, &failure.write_end}) close_fd(*fd);
  input_ = in.write_end, output_ = out.read_end, errors_ = err.read_end;
  int error = 0;
  const bool failed = pid_ < 0 || read(failure.read_end, &error, sizeof error) == sizeof error;
  close_fd(failure.read_end);
  if (failed) {
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
    for (int* fd : {&input_, &output_, &errors_}) close_fd(*fd);
    throw user_error("{}: cannot be started{}", command[0],
                     error != 0 ? fmt::format(" ({})", std::strerror(error)) : fork_error);
  }
  setpgid(pid_, pid_);  // both sides, so that it holds whoever comes first
  for (const int fd : {input_, output_, errors_}) never_block(fd);
}

ChildProcess::~ChildProcess() {
  kill();
  for (int* fd : {&input_, &output_, &errors_}) close_fd(*fd);
}

void ChildProcess::close_input() {
  close_fd(input_);
}

void ChildProcess::kill() {
  if (exit_code_) return;
  ::kill(-pid_, SIGKILL);
  reap(true);
}

bool ChildProcess::reap(bool wait) {
  if (exit_code_) return true;
  int status = 0;
  pid_t got;
  while ((got = waitpid(pid_, &status, wait ? 0 : WNOHANG)) < 0 && errno == EINTR) {
  }
  if (got == 0) return false;
  exit_code_ = got < 0 ? -1 : WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  ::kill(-pid_, SIGKILL);  // what it started and left behind
  return true;
}

std::string ChildProcess::end(double timeout_s) {
  const auto deadline = deadline_after(timeout_s);
  while (!reap(false) && Clock::now() < deadline) {
    read_errors();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  read_errors();
  kill();
  const int code = *exit_code_;
  return code < 0 ? fmt::format("signal {} ({})", -code, strsignal(-code)) : fmt::format("exit status {}", code);
}

void ChildProcess::read_errors() {
  std::array<char, 4096> buffer;
  ssize_t n = 0;
  while (errors_ >= 0 && (n = read(errors_, buffer.data(), buffer.size())) > 0) {
    stderr_tail_.append(buffer.data(), static_cast<size_t>(n));
    if (stderr_tail_.size() > kStderrTail) stderr_tail_.erase(0, stderr_tail_.size() - kStderrTail);
  }
  if (n == 0) close_fd(errors_);
}

/// False when the output has ended.
bool ChildProcess::read_output(std::string& into) {
  std::array<char, 65536> buffer;
  while (true) {
    const ssize_t n = read(output_, buffer.data(), buffer.size());
    if (n > 0) into.append(buffer.data(), static_cast<size_t>(n));
    if (n == 0) return false;
    if (n < 0 && errno != EINTR) return errno == EAGAIN;
  }
}

void ChildProcess::write_some(Exchange& what) {
  const PipeSignalBlocked guard;
  const ssize_t n = write(input_, what.to_write.data(), what.to_write.size());
  if (n > 0) what.to_write.remove_prefix(static_cast<size_t>(n));
  const bool broken = n < 0 && errno != EAGAIN && errno != EINTR;
  if (broken) what.to_write = {};  // the child's end of output tells the rest
  if (broken || (what.to_write.empty() && what.close_when_written)) close_input();
}

ChildProcess::Outcome ChildProcess::exchange(Exchange& what, double timeout_s) {
  const auto deadline = deadline_after(timeout_s);
  while (true) {
    if (what.until_newline && what.read.find('\n') != std::string::npos) return Outcome::kDone;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Outcome::kTimeout;
    std::array<pollfd, 3> fds = {pollfd{output_, POLLIN, 0}, pollfd{errors_, POLLIN, 0},
                                 pollfd{what.to_write.empty() ? -1 : input_, POLLOUT, 0}};
    if (poll(fds.data(), fds.size(), static_cast<int>(std::min<int64_t>(left, 60000))) < 0 && errno != EINTR)
      throw system_error("poll on a child process{}", errno_text());
    if (fds[2].revents != 0) write_some(what);
    if (fds[1].revents != 0) read_errors();
    if (fds[0].revents != 0 && !read_output(what.read)) {
      const bool line = what.until_newline && what.read.find('\n') != std::string::npos;
      return line || !what.until_newline ? Outcome::kDone : Outcome::kEnded;
    }
  }
}

ChildProcess::Outcome ChildProcess::ask(std::string_view line, double timeout_s, std::string& reply) {
  if (input_ < 0 || output_ < 0) return Outcome::kEnded;
  const std::string text = std::string(line) + '\n';
  Exchange what{text, false, true, unread_};
  const Outcome outcome = exchange(what, timeout_s);
  if (outcome != Outcome::kDone) return outcome;
  const size_t newline = unread_.find('\n');
  reply = unread_.substr(0, newline);
  unread_.erase(0, newline + 1);
  return outcome;
}

ChildProcess::Outcome ChildProcess::finish(std::string_view input, double timeout_s, std::string& output) {
  if (input.empty()) close_input();
  Exchange what{input, true, false, output};
  const Outcome outcome = exchange(what, timeout_s);
  close_input();
  return outcome;
}

}  // namespace roll
