// Signals as bytes of a pipe, whichever thread they come to: a mask and a signalfd would be of one thread alone, and a
// library's threads would die of what was meant for it.
#pragma once

#include <signal.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/descriptor.h"

namespace roll {

/// While it lives. One at a time.
class SignalPipe {
 public:
  /// SystemError.
  explicit SignalPipe(const std::vector<int>& signals);
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;

  /// Readable once a signal has come.
  int descriptor() const { return read_end_.get(); }
  /// Nothing: all that came were given.
  std::optional<int> next();

 private:
  Descriptor read_end_, write_end_;
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace roll
