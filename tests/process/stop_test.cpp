#include "process/stop.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <limits>

#include "base/clock.h"

using namespace roll;

namespace {

/// How a child that catches signals ends when it sends itself these: its exit code, or minus the signal that killed it.
int ending_after(const std::vector<int>& signals) {
  const pid_t child = ::fork();
  if (child == 0) {
    catch_stop_signals();
    for (const int number : signals) ::raise(number);
    ::_exit(requested_stop() ? static_cast<int>(*requested_stop()) : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

constexpr int kInterrupt = static_cast<int>(StopKind::kInterrupt);
constexpr int kTerminate = static_cast<int>(StopKind::kTerminate);
constexpr int kHangup = static_cast<int>(StopKind::kHangup);
constexpr int kPreempt = static_cast<int>(StopKind::kPreempt);

}  // namespace

TEST_CASE("a first signal is a wish, Ctrl-C or SIGTERM after it ends the process", "[base]") {
  CHECK(ending_after({}) == 0);
  CHECK(ending_after({SIGINT}) == kInterrupt);
  CHECK(ending_after({SIGTERM}) == kTerminate);
  CHECK(ending_after({SIGINT, SIGINT}) == -SIGINT);
  CHECK(ending_after({SIGTERM, SIGTERM}) == -SIGTERM);
  CHECK(ending_after({SIGINT, SIGTERM}) == -SIGTERM);
}

TEST_CASE("an early warning stays what was asked for, and may come twice; an end may follow it once", "[base]") {
  CHECK(ending_after({SIGUSR1, SIGUSR1}) == kPreempt);
  CHECK(ending_after({SIGUSR1, SIGTERM}) == kPreempt);
  CHECK(ending_after({SIGUSR1, SIGTERM, SIGTERM}) == -SIGTERM);
  CHECK(ending_after({SIGTERM, SIGUSR1}) == kTerminate);
}

TEST_CASE("SIGHUP is a wish that hurries nobody, and stays ignored under nohup", "[base]") {
  CHECK(ending_after({SIGHUP}) == kHangup);
  CHECK(ending_after({SIGHUP, SIGHUP, SIGTERM}) == kHangup);
  CHECK(ending_after({SIGTERM, SIGHUP}) == kTerminate);
  const auto before = std::signal(SIGHUP, SIG_IGN);
  CHECK(ignores_hangup());
  CHECK(ending_after({SIGHUP}) == 0);
  CHECK(ending_after({stand_in_signal(StopKind::kHangup)}) == kHangup);  // of a launcher that had a terminal
  std::signal(SIGHUP, before);
}

TEST_CASE("where a wish was granted, the next Ctrl-C is a wish again", "[base]") {
  const pid_t child = ::fork();
  if (child == 0) {
    catch_stop_signals();
    for (int i = 0; i < 3; ++i) {
      ::raise(SIGINT);
      if (requested_stop() != StopKind::kInterrupt) ::_exit(1);
      request_stop(std::nullopt);
      if (requested_stop()) ::_exit(2);
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("the signals that mpirun hands on stand for others", "[base]") {
  for (const StopKind kind : {StopKind::kInterrupt, StopKind::kTerminate, StopKind::kPreempt, StopKind::kHangup}) {
    CHECK(ending_after({stand_in_signal(kind)}) == static_cast<int>(kind));
    CHECK(find_stop_kind(stand_in_signal(kind)) == kind);
  }
  CHECK_FALSE(find_stop_kind(SIGKILL));
  CHECK(ending_after({stand_in_signal(StopKind::kInterrupt), SIGTERM}) == -SIGTERM);
}

TEST_CASE("a wish becomes an exception with the shell's exit code", "[base]") {
  CHECK_NOTHROW(throw_if_stopped());
  request_stop(StopKind::kTerminate);
  CHECK_THROWS_AS(throw_if_stopped(), Stopped);
  request_stop(std::nullopt);
  CHECK(Stopped(StopKind::kInterrupt).exit_code() == 130);
  CHECK(Stopped(StopKind::kTerminate).exit_code() == 143);
  CHECK(Stopped(StopKind::kHangup).exit_code() == 129);
  CHECK(Stopped(StopKind::kPreempt).exit_code() == 75);
  CHECK(Stopped(StopKind::kTimeLimit).exit_code() == 75);
  CHECK(std::string(Stopped(StopKind::kInterrupt).what()) == "stopped by Ctrl-C (SIGINT)");
  CHECK(std::string(Stopped(StopKind::kPreempt, " after step 3").what()) == "stopped by SIGUSR1 after step 3");
}

TEST_CASE("a time limit is a wish from then on, where there was none before", "[base]") {
  stop_at(wall_clock_s() + 3600);
  CHECK_FALSE(requested_stop());
  stop_at(wall_clock_s() - 1);
  CHECK(requested_stop() == StopKind::kTimeLimit);
  request_stop(StopKind::kTerminate);
  CHECK(requested_stop() == StopKind::kTerminate);
  request_stop(std::nullopt);
  stop_at(std::numeric_limits<double>::infinity());
  CHECK_FALSE(requested_stop());
}
