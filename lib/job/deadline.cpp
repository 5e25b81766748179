#include "job/deadline.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <fstream>

#include "base/env.h"
#include "base/error.h"
#include "base/harmless.h"

namespace roll {

namespace {

constexpr int kDaemonTime_ms = 2000;      // from SIGTERM to SIGKILL
constexpr int kOtherRanksTime_ms = 1500;  // upper bound between the first waits of a job's ranks

// A signal handler can access only globals; these are written before the timer starts.
std::array<char, 1024> last_line;
size_t last_line_size = 0;
int last_exit_code = 1;
int other_ranks_time_ms = 0;
int daemon_fd = -1;

/// Returns a pidfd of the daemon that started us, which cannot come to mean another process; -1: none that we may end.
int open_daemon() {
  if (!env("ROLL_LAUNCHED")) return -1;
  const pid_t parent = ::getppid();
  std::ifstream file(fmt::format("/proc/{}/comm", parent));
  std::string name;
  std::getline(file, name);
  if (name != "orted" && name != "prted") return -1;
  return static_cast<int>(::syscall(SYS_pidfd_open, parent, 0));
}

bool has_ended(int daemon, int wait_ms) {
  pollfd poll_entry{daemon, POLLIN, 0};
  return ::poll(&poll_entry, 1, wait_ms) != 0;
}

/// Makes only async-signal-safe calls.
void end_daemon(int daemon) {
  ::syscall(SYS_pidfd_send_signal, daemon, SIGTERM, nullptr, 0);
  if (!has_ended(daemon, kDaemonTime_ms)) ::syscall(SYS_pidfd_send_signal, daemon, SIGKILL, nullptr, 0);
}

extern "C" void end_now(int) {
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, last_line.data(), last_line_size);
  ::poll(nullptr, 0, other_ranks_time_ms);
  if (daemon_fd >= 0) end_daemon(daemon_fd);
  ::_exit(last_exit_code);
}

void set_timer(double limit_s) {
  const double whole = std::floor(limit_s);
  const itimerval timer{{0, 0}, {static_cast<time_t>(whole), static_cast<suseconds_t>((limit_s - whole) * 1e6)}};
  if (::setitimer(ITIMER_REAL, &timer, nullptr) != 0) throw system_error("setitimer{}", errno_text());
}

void begin_deadline(double limit_s, const std::string& line, int exit_code, int time_ms) {
  set_timer(0);
  other_ranks_time_ms = time_ms;
  const std::string text = line.empty() ? "" : harmless(line).substr(0, last_line.size() - 1) + "\n";
  std::copy(text.begin(), text.end(), last_line.begin());
  last_line_size = text.size();
  last_exit_code = exit_code;
  if (daemon_fd < 0) daemon_fd = open_daemon();
  struct sigaction action {};
  action.sa_handler = end_now;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGALRM, &action, nullptr);
  set_timer(std::max(limit_s, 1e-3));
}

/// Runs in the child: keeps none of our files open, so that Open MPI sees the end of our output.
[[noreturn]] void end_daemon_later(int daemon, int grace_ms) {
  ::setsid();
  for (int fd = 0; fd < 1 << 16; ++fd)
    if (fd != daemon) ::close(fd);
  if (!has_ended(daemon, grace_ms)) end_daemon(daemon);
  ::_exit(0);
}

}  // namespace

Deadline::Deadline(double limit_s, const std::string& line, int exit_code) {
  begin_deadline(limit_s, line, exit_code, kOtherRanksTime_ms);
}

Deadline::~Deadline() {
  const itimerval no_timer{};
  ::setitimer(ITIMER_REAL, &no_timer, nullptr);
}

void end_within(double limit_s, const std::string& line, int exit_code) {
  begin_deadline(limit_s, line, exit_code, 0);
}

void end_daemon_after(double grace_s) {
  if (daemon_fd < 0) daemon_fd = open_daemon();
  if (daemon_fd >= 0 && ::fork() == 0) end_daemon_later(daemon_fd, static_cast<int>(grace_s * 1e3));
}

}  // namespace roll
