// A write to what is gone (a child, a server) must be an error code, not a signal that kills us.
#pragma once

#include <csignal>

namespace roll {

/// While it lives, SIGPIPE is blocked in this thread; at its end a pending one is taken away.
class PipeSignalBlocked {
 public:
  PipeSignalBlocked();
  ~PipeSignalBlocked();
  PipeSignalBlocked(const PipeSignalBlocked&) = delete;
  PipeSignalBlocked& operator=(const PipeSignalBlocked&) = delete;

 private:
  sigset_t pipe_, before_;
};

}  // namespace roll
