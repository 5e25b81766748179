// Graceful stops. Ctrl-C, SIGTERM, SIGHUP, SIGUSR1 and the time limit set a stop request. Loops poll it and leave by an
// exception, so that work is saved, files are closed and children reaped. A second Ctrl-C or SIGTERM kills the process.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

namespace roll {

enum class StopKind {
  kInterrupt = 1,  // SIGINT
  kTerminate,      // SIGTERM
  kPreempt,        // SIGUSR1: early warning of batch systems
  kTimeLimit,      // see stop_at()
  kHangup,         // SIGHUP: the terminal is gone
};

/// Returns the signal that mpirun gets instead of the original one, and passes on to its ranks, which treat it like the
/// original: mpirun answers SIGINT and SIGTERM by killing its ranks within a second. It kills a process that does not
/// catch it yet.
int stand_in_signal(StopKind kind);

/// Returns the kind for an original or stand-in signal; nullopt for any other signal.
std::optional<StopKind> find_stop_kind(int signal);

/// Returns the process's exit code: 128 + signal as in shells (129, 130, 143), or 75 (EX_TEMPFAIL, "run the same
/// command again") for preemption and the time limit.
int exit_code_for(StopKind kind);

/// Thrown to obey a stop request. The text is "stopped by Ctrl-C (SIGINT)" or similar, then `details`.
struct Stopped : std::runtime_error {
  explicit Stopped(StopKind kind, const std::string& details = "");
  StopKind kind;
  int exit_code() const { return exit_code_for(kind); }
};

/// Catches SIGINT, SIGTERM, SIGHUP, SIGUSR1 and the stand-ins from now on: they only set the stop request, and the
/// first one counts. A second SIGINT or SIGTERM kills the process. A repeated SIGHUP does not: shell and kernel both
/// send it, and service managers send it beside SIGTERM. An ignored SIGHUP (nohup) stays ignored. Call once, early in
/// main. SystemError: sigaction fails.
void catch_stop_signals();

/// Ignores these signals from now on: the work is done, and a signal must not change the exit code.
void ignore_stop_signals();

/// Returns whether SIGHUP is ignored: the process was started to outlive its terminal.
bool ignores_hangup();

/// Requests a stop of kind kTimeLimit at this time (seconds since 1970-01-01 UTC), unless another request came before.
void stop_at(double wall_clock_s) noexcept;

/// Returns the stop request, if there is one. Cheap: atomic reads and a clock.
std::optional<StopKind> requested_stop() noexcept;

/// Throws Stopped if a stop is requested. For loops without half-done work.
void throw_if_stopped();

/// Sets the stop request: in tests, and for a request that came from another rank. nullopt clears it, for a process
/// that obeyed it and goes on.
void request_stop(std::optional<StopKind> kind) noexcept;

}  // namespace roll
