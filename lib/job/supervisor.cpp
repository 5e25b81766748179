#include "job/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/harmless.h"
#include "process/signal_pipe.h"

namespace roll {

namespace {

constexpr double kGrace_s = 8;  // from a rank's failure to mpirun's end, for all other ranks to leave
constexpr int kPollPeriod_ms = 500;

std::vector<int> signals_to_watch() {
  std::vector<int> signals{SIGINT, SIGTERM, SIGUSR1, SIGCHLD};
  if (!ignores_hangup()) signals.push_back(SIGHUP);
  return signals;
}

/// Runs in the child: gives it its own process group, so that Ctrl-C reaches it only through us, and makes it die with
/// its parent. Returns only on failure, with errno. Makes only async-signal-safe calls.
void exec_command(char* const* command, int errors, int orphan_signal) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, orphan_signal);
  ::signal(SIGPIPE, SIG_DFL);
  ::dup2(errors, STDERR_FILENO);
  if (::isatty(STDIN_FILENO)) {
    const int null_fd = ::open("/dev/null", O_RDONLY);
    ::dup2(null_fd, STDIN_FILENO);
  }
  ::execvp(command[0], command);
}

pid_t spawn(const std::vector<std::string>& command, int errors, int orphan_signal) {
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw system_error("fork{}", errno_text());
  if (child > 0) return child;
  exec_command(words.data(), errors, orphan_signal);
  ::_exit(127);
}

class Supervisor {
 public:
  Supervisor(const std::vector<std::string>& command, double start_limit_s, int orphan_signal)
      : start_limit_s_(start_limit_s) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // ranks of a killed mpirun become our children
    Pipe errors = make_pipe("pipe for mpirun");
    std::signal(SIGPIPE, SIG_IGN);  // the reader of our output may go; the job goes on
    child_ = spawn(command, errors.write_end.get(), orphan_signal);
    errors_ = std::move(errors.read_end);
    ::fcntl(errors_.get(), F_SETFL, O_NONBLOCK);
  }

  JobEnd run() {
    while (::waitpid(child_, &end_.status, WNOHANG) != child_) {
      std::array<pollfd, 2> poll_entries = {pollfd{signals_.descriptor(), POLLIN, 0}, pollfd{errors_.get(), POLLIN, 0}};
      ::poll(poll_entries.data(), poll_entries.size(), kPollPeriod_ms);
      pass_signals_on();
      show_errors();
      check_start();
      enforce_end();
    }
    // Leftovers of mpirun (ssh) may hold the pipe open, so we do not wait for its end.
    show_errors();
    show(end_.output.rest());
    if (end_began_s_ < 0) end_.failed_s = wall_clock_s();
    end_leftovers();
    end_.process = child_;
    return std::move(end_);
  }

 private:
  void pass_signals_on() {
    while (const auto number = signals_.next())
      if (const auto kind = find_stop_kind(*number)) pass_on(*kind);
  }

  void pass_on(StopKind kind) {
    if (!end_.stop_request) end_.stop_request = kind;
    const bool is_interrupt = kind == StopKind::kInterrupt || kind == StopKind::kTerminate;
    if (is_interrupt && was_interrupted_) {
      end_.stopped_twice = true;
      begin_end();
    }
    ::kill(child_, end_.stopped_twice ? SIGTERM : stand_in_signal(kind));
    was_interrupted_ |= is_interrupt;
  }

  void show_errors() {
    std::array<char, 4096> bytes{};
    for (ssize_t size = 1; errors_ && size > 0;) {
      size = ::read(errors_.get(), bytes.data(), bytes.size());
      if (size == 0) errors_.close();
      if (size > 0) show(end_.output.take({bytes.data(), static_cast<size_t>(size)}));
    }
    if (end_.output.failed()) begin_end();
  }

  void show(const std::string& lines) const {
    if (end_.stopped_twice) return;  // Open MPI and the ranks report their death
    const std::string text = harmless(lines);
    for (size_t at = 0; at < text.size();) {
      const ssize_t size = ::write(STDERR_FILENO, text.data() + at, text.size() - at);
      if (size <= 0) return;  // nobody reads our output; the job goes on
      at += static_cast<size_t>(size);
    }
  }

  void check_start() {
    end_.started_late |= !end_.output.started() && !end_.output.failed() && monotonic_s() - began_s_ > start_limit_s_;
    if (end_.started_late) begin_end();
  }

  void begin_end() {
    if (end_began_s_ >= 0) return;
    end_began_s_ = monotonic_s();
    end_.failed_s = wall_clock_s();
  }

  /// Kills mpirun and its children on this host: remaining ranks, and connections to other hosts (ssh). On other hosts,
  /// ranks and daemons end by themselves.
  void enforce_end() {
    if (end_began_s_ < 0 || monotonic_s() - end_began_s_ < kGrace_s) return;
    end_.was_killed = true;
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", child_));
    for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
    ::kill(-child_, SIGKILL);
  }

  /// Kills ranks that outlived mpirun, and their children: a restart must not meet them.
  static void end_leftovers() {
    const double began_s = monotonic_s();
    while (::waitpid(-1, nullptr, WNOHANG) >= 0 && monotonic_s() - began_s < kGrace_s) {
      std::ifstream children(fmt::format("/proc/self/task/{}/children", ::getpid()));
      for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
      ::usleep(10'000);
    }
  }

  SignalPipe signals_{signals_to_watch()};
  Descriptor errors_;             // closed after mpirun's last output
  bool was_interrupted_ = false;  // by Ctrl-C or SIGTERM
  pid_t child_ = -1;
  double start_limit_s_;
  double began_s_ = monotonic_s();
  double end_began_s_ = -1;
  JobEnd end_{};
};

}  // namespace

JobEnd supervise(const std::vector<std::string>& command, double start_limit_s, int orphan_signal) {
  return Supervisor(command, start_limit_s, orphan_signal).run();
}

}  // namespace roll
