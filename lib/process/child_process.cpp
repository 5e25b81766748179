#include "process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "process/pipe_signal.h"

namespace roll {

namespace {

using Clock = ChildProcess::Clock;
constexpr size_t kStderrTail = 4096;
constexpr int kStatusFd = 3;
constexpr double kLongestKill_s = 5;  // a process in the middle of a disk access dies late

// The program runs below a shell that gathers whatever it leaves behind (see PR_SET_CHILD_SUBREAPER) and outlives it.
constexpr const char* kGatherer =
    "\"$@\" 3>&-; status=$?; exec <&- >&- 2>&-; echo $status >&3; exec 3>&-; exec sleep 1000000000";

Clock::time_point deadline_after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Pipe child_pipe() {
  return make_pipe("pipe for a child process");
}

void never_block(const Descriptor& fd) {
  fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

/// In the child, between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(const std::vector<char*>& argv, const std::vector<char*>& variables, int in, int out, int err,
                         int status) {
  setpgid(0, 0);
  // Both outlast exec. The second ends the shell when this process is killed, for only the program reads our pipe.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(in, 0);
  dup2(out, 1);
  dup2(err, 2);
  dup2(status, kStatusFd);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGINT, SIGTERM}) signal(number, SIG_DFL);
  execve(argv[0], argv.data(), variables.data());
  _exit(127);
}

/// As execve() takes them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

bool is_set_in(const std::vector<std::string>& variables, std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('=') + 1);
  return std::ranges::any_of(variables, [&](const std::string& own) { return own.starts_with(name); });
}

bool is_executable(const std::string& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return false;
  if (!S_ISREG(found.st_mode)) errno = EACCES;
  return S_ISREG(found.st_mode) && ::access(file.c_str(), X_OK) == 0;
}

/// The processes below `root`, however deep, that still run.
std::vector<pid_t> processes_below(pid_t root) {
  std::map<pid_t, std::vector<pid_t>> children;
  std::set<pid_t> running;
  for (const std::filesystem::path& folder : entries_of("/proc")) {
    const bool is_process = std::isdigit(static_cast<unsigned char>(folder.filename().c_str()[0])) != 0;
    std::ifstream stat(folder / "stat");
    std::string line;
    if (!is_process || !std::getline(stat, line)) continue;
    std::istringstream behind_name(line.substr(std::min(line.size(), line.rfind(')') + 1)));
    char state = 'Z';
    pid_t parent = 0;
    behind_name >> state >> parent;
    const auto pid = static_cast<pid_t>(std::stoi(line));
    children[parent].push_back(pid);
    if (state != 'Z' && state != 'X') running.insert(pid);
  }
  std::vector<pid_t> below, to_visit{root};
  while (!to_visit.empty()) {
    const pid_t parent = to_visit.back();
    to_visit.pop_back();
    for (const pid_t child : children[parent]) {
      to_visit.push_back(child);
      if (running.contains(child)) below.push_back(child);
    }
  }
  return below;
}

/// Kills the processes below `root`, which itself lives: so what one of them starts meanwhile, or leaves behind as it
/// dies, stays below it and is found by the next look.
void kill_below(pid_t root) {
  const auto deadline = deadline_after(kLongestKill_s);
  for (auto below = processes_below(root); !below.empty() && Clock::now() < deadline; below = processes_below(root)) {
    for (const pid_t pid : below) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

void check_executable(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    if (!is_executable(program)) throw user_error("{}: cannot be started{}", program, errno_text());
    return;
  }
  std::istringstream folders(env("PATH").value_or("/usr/bin:/bin"));
  int error = ENOENT;
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (is_executable((folder.empty() ? "." : folder) + "/" + program)) return;
    if (errno == EACCES) error = errno;
  }
  errno = error;
  throw user_error("{}: cannot be started{}", program, errno_text());
}

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::vector<std::string>& variables) {
  if (command.empty()) throw user_error("no program to start");
  check_executable(command[0]);
  std::vector<std::string> words{"/bin/sh", "-c", kGatherer, "sh"};
  words.insert(words.end(), command.begin(), command.end());
  std::vector<std::string> own = variables;
  std::vector<char*> argv = pointers_to(words), all = pointers_to(own);
  all.pop_back();
  for (char** entry = environ; *entry; ++entry)
    if (!is_set_in(variables, *entry)) all.push_back(*entry);
  all.push_back(nullptr);
  Pipe in = child_pipe(), out = child_pipe(), err = child_pipe(), status = child_pipe();
  pid_ = fork();
  if (pid_ == 0) become(argv, all, in.read_end.get(), out.write_end.get(), err.write_end.get(), status.write_end.get());
  if (pid_ < 0) throw system_error("{}: cannot be started{}", command[0], errno_text());
  setpgid(pid_, pid_);  // both sides, so that it holds whoever comes first
  input_ = std::move(in.write_end);
  output_ = std::move(out.read_end);
  errors_ = std::move(err.read_end);
  status_ = std::move(status.read_end);
  for (const Descriptor* fd : {&input_, &output_, &errors_, &status_}) never_block(*fd);
}

ChildProcess::~ChildProcess() {
  kill();
}

void ChildProcess::kill() {
  if (pid_ < 0) return;
  has_ended();  // its own status is worth more than our signal
  kill_below(pid_);
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (!exit_code_) exit_code_ = -SIGKILL;
}

bool ChildProcess::has_ended() {
  std::array<char, 16> text{};
  if (exit_code_) return true;
  const ssize_t n = read(status_.get(), text.data(), text.size() - 1);
  if (n < 0) return false;
  const int code = n == 0 ? 128 + SIGKILL : std::atoi(text.data());       // nothing: somebody killed the shell
  exit_code_ = code > 128 && code <= 128 + SIGRTMAX ? 128 - code : code;  // as shells say it
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

/// No more than one pipe holds: a child that writes without end must not keep us here.
void ChildProcess::read_errors() {
  std::array<char, 65536> buffer;
  const ssize_t n = read(errors_.get(), buffer.data(), buffer.size());
  if (n > 0) stderr_tail_.append(buffer.data(), static_cast<size_t>(n));
  if (n == 0) errors_.close();
  if (stderr_tail_.size() > kStderrTail) stderr_tail_.erase(0, stderr_tail_.size() - kStderrTail);
}

/// No more than one pipe holds, as read_errors().
void ChildProcess::read_output() {
  std::array<char, 65536> buffer;
  const ssize_t n = read(output_.get(), buffer.data(), buffer.size());
  if (n > 0) unread_.append(buffer.data(), static_cast<size_t>(n));
  if (n == 0) output_.close();
}

void ChildProcess::write_some(std::string_view& text) {
  const PipeSignalBlocked guard;
  const ssize_t n = write(input_.get(), text.data(), text.size());
  if (n > 0) text.remove_prefix(static_cast<size_t>(n));
  if (n < 0 && errno != EAGAIN && errno != EINTR) input_.close();  // the end of its output will show that it is gone
}

/// Whether it has read all that was written.
bool ChildProcess::has_read_all() const {
  int left = 0;
  return !input_ || (ioctl(input_.get(), FIONREAD, &left) == 0 && left == 0);
}

/// Waits until something can be read or written, at most `longest`, and does it.
void ChildProcess::exchange(std::string_view& to_write, Clock::duration longest) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(longest).count();
  const timespec limit{ns / 1'000'000'000, ns % 1'000'000'000};
  std::array<pollfd, 4> fds = {pollfd{output_.get(), POLLIN, 0}, pollfd{errors_.get(), POLLIN, 0},
                               pollfd{status_.get(), POLLIN, 0},
                               pollfd{to_write.empty() ? -1 : input_.get(), POLLOUT, 0}};
  if (ppoll(fds.data(), fds.size(), &limit, nullptr) < 0 && errno != EINTR)
    throw system_error("poll on a child process{}", errno_text());
  if (fds[3].revents != 0) write_some(to_write);
  if (fds[1].revents != 0) read_errors();
  if (fds[0].revents != 0) read_output();
}

ChildProcess::Outcome ChildProcess::ask(std::string_view line, double timeout_s, std::string& reply) {
  const auto deadline = deadline_after(timeout_s);
  const size_t num_before = line.empty() ? 0 : line.size() - 1;
  const auto outcome = hand_over(line.substr(0, num_before), deadline);
  if (outcome == Outcome::kDone) return answer_to(std::string(line.substr(num_before)) + '\n', deadline, reply);
  reply = unread_.substr(0, unread_.find('\n'));
  return outcome;
}

/// Waits until all but the question's last character is read: whatever is said before that is no answer. (A program
/// that reads JSON values may answer at the brace, without waiting for the newline.)
ChildProcess::Outcome ChildProcess::hand_over(std::string_view line, Clock::time_point deadline) {
  auto pause = std::chrono::microseconds(20);
  read_output();
  while (true) {
    if (!unread_.empty()) return Outcome::kUnasked;
    if (!input_ || !output_ || has_ended()) return Outcome::kEnded;
    if (line.empty() && has_read_all()) return Outcome::kDone;
    if (Clock::now() >= deadline) return Outcome::kTimeout;
    pause = std::min(2 * pause, std::chrono::microseconds(1000));
    exchange(line, line.empty() ? pause : std::max<Clock::duration>(deadline - Clock::now(), {}));
  }
}

ChildProcess::Outcome ChildProcess::answer_to(std::string_view end, Clock::time_point deadline, std::string& reply) {
  size_t newline = 0;
  while ((newline = unread_.find('\n')) == std::string::npos) {
    if (unread_.size() > kLongestLine) return Outcome::kTooLong;
    if (has_ended()) read_output();  // its last words
    if ((!output_ || has_ended()) && unread_.find('\n') == std::string::npos) return Outcome::kEnded;
    if (Clock::now() >= deadline) return Outcome::kTimeout;
    exchange(end, deadline - Clock::now());
  }
  reply = unread_.substr(0, newline);
  unread_.erase(0, newline + 1);
  if (reply.size() > kLongestLine) return Outcome::kTooLong;
  if (unread_.empty()) return Outcome::kDone;
  reply = unread_.substr(0, unread_.find('\n'));
  return Outcome::kUnasked;
}

}  // namespace roll
