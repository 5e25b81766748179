// Turns signals into bytes of a pipe, for the supervisor's poll loop. Works for signals to any thread. A mask with
// signalfd would cover one thread only, and the signal could kill the process through a library's thread.
#pragma once

#include <signal.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/descriptor.h"

namespace roll {

/// Catches the signals while it lives. Only one may exist at a time.
class SignalPipe {
 public:
  /// SystemError: no pipe can be made.
  explicit SignalPipe(const std::vector<int>& signals);
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;

  /// Returns the pipe's descriptor, which is readable while a signal is waiting.
  int descriptor() const { return read_end_.get(); }
  /// Returns the next waiting signal; nullopt if none waits.
  std::optional<int> next();

 private:
  Descriptor read_end_, write_end_;
  std::vector<std::pair<int, struct sigaction>> previous_actions_;
};

}  // namespace roll
