// Graceful stops. Ctrl-C, SIGTERM, SIGHUP, SIGUSR1 and the time limit set this process's stop request. Loops poll it
// and leave by an exception (Stopped), so that work is saved, files are closed and children reaped. A second Ctrl-C or
// SIGTERM kills the process.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

namespace roll {

enum class StopKind {
  kInterrupt = 1,  // SIGINT
  kTerminate,      // SIGTERM
  kPreempt,        // SIGUSR1: early warning of batch systems
  kTimeLimit,      // the time given to stop_at() has come
  kHangup,         // SIGHUP: the terminal is gone
};

/// Returns the signal that the supervisor (job/supervisor.h) sends to mpirun in place of the original one ("stand-in").
/// mpirun answers SIGINT and SIGTERM by killing its ranks within a second. It passes the stand-in on to the ranks,
/// which treat it like the original. A rank that has not called catch_stop_signals() yet is killed by the stand-in.
int stand_in_signal(StopKind kind);

/// Returns the kind for the number of an original or stand-in signal; nullopt for any other signal.
std::optional<StopKind> find_stop_kind(int signal);

/// Returns the exit code of a process that was stopped. It is 75 (EX_TEMPFAIL, "run the same command again") for
/// kPreempt and kTimeLimit, else 128 + signal as in shells (129, 130, 143).
int exit_code_for(StopKind kind);

/// Thrown to obey a stop request. what() is "stopped by Ctrl-C (SIGINT)" or similar, followed by `details`.
struct Stopped : std::runtime_error {
  explicit Stopped(StopKind kind, const std::string& details = "");
  StopKind kind;
  int exit_code() const { return exit_code_for(kind); }
};

/// Makes SIGINT, SIGTERM, SIGHUP, SIGUSR1 and their stand-ins set the stop request from now on; the first one decides
/// its kind. A second SIGINT or SIGTERM kills the process. A second SIGHUP does not, because shell and kernel both send
/// it, and service managers send it beside SIGTERM. If SIGHUP is ignored (nohup), it stays so. Commands call it once,
/// before their work. Throws SystemError if sigaction fails.
void catch_stop_signals();

/// Ignores the same signals from now on, for a process whose work is done: a signal must not change its exit code.
void ignore_stop_signals();

/// Returns true if SIGHUP is ignored, as after nohup: the process is meant to outlive its terminal.
bool ignores_hangup();

/// From the time `wall_clock_s` on (seconds since 1970-01-01 UTC), requested_stop() returns kTimeLimit, unless another
/// request came before. A later call replaces the time.
void stop_at(double wall_clock_s) noexcept;

/// Returns the stop request; nullopt if there is none. It costs two atomic reads and a look at the clock, so loops may
/// call it often. Any thread may call it.
std::optional<StopKind> requested_stop() noexcept;

/// Throws Stopped if a stop is requested. For loops that leave no work half done.
void throw_if_stopped();

/// Sets the stop request, for tests and for a request that came to another rank. nullopt clears the request, for a
/// process that obeyed it and continues.
void request_stop(std::optional<StopKind> kind) noexcept;

}  // namespace roll
