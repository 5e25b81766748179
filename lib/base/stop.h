// Ctrl-C and SIGTERM ask for an end; loops look at the wish and leave by an exception, so that files are closed and
// children reaped. A second signal of the same kind ends the process at once.
#pragma once

#include <stdexcept>

namespace roll {

/// Thrown where the wish is honoured; main turns it into the exit code 128 + signal, as shells do.
struct Stopped : std::runtime_error {
  explicit Stopped(int signal_number);
  int signal;
  int exit_code() const { return 128 + signal; }
};

/// From here on SIGINT and SIGTERM only set a flag (the second one of a kind kills). So do SIGUSR1 (taken as SIGINT)
/// and SIGUSR2 (as SIGTERM): mpirun hands those on untouched, where for the others it kills within a second; batch
/// systems send them as an early warning. Call once, early in main. SystemError.
void catch_stop_signals();

/// The signal that asked for an end, or 0. Cheap: an atomic read.
int stop_signal() noexcept;

/// Throws Stopped when a signal has come; for loops that hold nothing half-done.
void throw_if_stopped();

/// As if the signal had come (0 takes the wish back); for tests and for a wish that reached us by another rank.
void request_stop(int signal_number) noexcept;

}  // namespace roll
