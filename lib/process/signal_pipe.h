// Turns signals into bytes of a pipe, for the supervisor's poll loop. Unlike signalfd, whose mask holds for one thread
// only, this works for a signal to any thread of the process.
#pragma once

#include <signal.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/descriptor.h"

namespace roll {

/// Catches the signals while it lives, then restores their earlier handlers. Only one may exist at a time.
class SignalPipe {
 public:
  /// Catches each of `signals` from now on. Throws SystemError if no pipe can be made.
  explicit SignalPipe(const std::vector<int>& signals);
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;

  /// Returns the pipe's read end, for poll(2): it is readable while a signal has come that next() has not returned.
  int descriptor() const { return read_end_.get(); }
  /// Returns the number of the earliest signal that it has not returned yet; nullopt if no signal is left. Does not
  /// wait.
  std::optional<int> next();

 private:
  Descriptor read_end_, write_end_;
  std::vector<std::pair<int, struct sigaction>> previous_actions_;
};

}  // namespace roll
