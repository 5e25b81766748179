#include "base/stop.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

using namespace roll;

namespace {

/// How a child that catches signals ends when it sends itself these: its exit code, or minus the signal that killed it.
int ending_after(const std::vector<int>& signals) {
  const pid_t child = ::fork();
  if (child == 0) {
    catch_stop_signals();
    for (const int number : signals) ::raise(number);
    ::_exit(stop_signal());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("a first signal is a wish, a second one of its kind ends the process", "[base]") {
  CHECK(ending_after({}) == 0);
  CHECK(ending_after({SIGINT}) == SIGINT);
  CHECK(ending_after({SIGTERM}) == SIGTERM);
  CHECK(ending_after({SIGINT, SIGINT}) == -SIGINT);
  CHECK(ending_after({SIGTERM, SIGTERM}) == -SIGTERM);
}

TEST_CASE("the signals that mpirun hands on stand for Ctrl-C and SIGTERM", "[base]") {
  CHECK(ending_after({SIGUSR1}) == SIGINT);
  CHECK(ending_after({SIGUSR2}) == SIGTERM);
}

TEST_CASE("a wish becomes an exception with the shell's exit code", "[base]") {
  CHECK_NOTHROW(throw_if_stopped());
  request_stop(SIGTERM);
  CHECK_THROWS_AS(throw_if_stopped(), Stopped);
  request_stop(0);
  CHECK(Stopped(SIGTERM).exit_code() == 143);
  CHECK(std::string(Stopped(SIGINT).what()) == "stopped by Ctrl-C (SIGINT)");
}
