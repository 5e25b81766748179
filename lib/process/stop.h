// Ctrl-C, SIGTERM, SIGHUP, SIGUSR1 and the time limit ask for an end; loops look at the wish and leave by an exception,
// so that work is saved, files are closed and children reaped. Ctrl-C or SIGTERM once more ends the process at once.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

namespace roll {

enum class StopKind {
  kInterrupt = 1,  // SIGINT
  kTerminate,      // SIGTERM
  kPreempt,        // SIGUSR1: what batch systems send as an early warning
  kTimeLimit,      // see stop_at()
  kHangup,         // SIGHUP: the terminal is gone
};

/// The signal that mpirun passes on to its ranks in place of the wish's own, and that they take for it: mpirun would
/// answer SIGINT and SIGTERM by killing them within a second. It ends a process that does not catch it yet.
int stand_in_signal(StopKind kind);

/// The kind that a signal wishes for, also as a stand-in; none: it is no wish.
std::optional<StopKind> stop_kind_of(int signal);

/// As shells have it: 128 + signal, so 129, 130 and 143; 75 (EX_TEMPFAIL, "run the same command again") where the
/// machine is wanted for something else.
int exit_code_of(StopKind kind);

/// Thrown where the wish is honoured. The text is "stopped by Ctrl-C (SIGINT)" and the like, then `more`.
struct Stopped : std::runtime_error {
  explicit Stopped(StopKind kind, const std::string& more = "");
  StopKind kind;
  int exit_code() const { return exit_code_of(kind); }
};

/// From here on SIGINT, SIGTERM, SIGHUP, SIGUSR1 and the stand-ins only set a wish; the first one counts. A second one
/// of the first two kills the process, as if nothing had caught it; SIGHUP, which shell and kernel both send, and
/// service managers beside SIGTERM, hurries nobody. It stays ignored where it is (nohup). Call once, early in main.
/// SystemError.
void catch_stop_signals();

/// From here on the same signals do nothing: the work is done, and what it ended with is what the process ends with.
void ignore_stop_signals();

/// Whether this process was started to outlive its terminal.
bool ignores_hangup();

/// From that moment on (seconds since 1970-01-01 UTC) there is a wish of kTimeLimit, unless another came before.
void stop_at(double wall_clock_s) noexcept;

/// The wish for an end. Cheap: atomic reads and a clock.
std::optional<StopKind> stop_wish() noexcept;

/// Throws Stopped when there is a wish; for loops that hold nothing half-done.
void throw_if_stopped();

/// Sets the wish; for tests, and for a wish that reached this process by another rank. nullopt takes it back, where it
/// was granted and the process goes on.
void request_stop(std::optional<StopKind> kind) noexcept;

}  // namespace roll
