// Blocks SIGPIPE, so that a write to an ended child or a closed connection returns an error instead of killing us.
#pragma once

#include <csignal>

namespace roll {

/// Blocks SIGPIPE in this thread while it lives; the destructor discards a pending one.
class PipeSignalBlocked {
 public:
  PipeSignalBlocked();
  ~PipeSignalBlocked();
  PipeSignalBlocked(const PipeSignalBlocked&) = delete;
  PipeSignalBlocked& operator=(const PipeSignalBlocked&) = delete;

 private:
  sigset_t pipe_, previous_mask_;
};

}  // namespace roll
