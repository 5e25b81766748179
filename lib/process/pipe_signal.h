// Blocks SIGPIPE, so that a write to an ended child or a closed connection fails with EPIPE instead of killing this
// process.
#pragma once

#include <csignal>

namespace roll {

/// Blocks SIGPIPE in this thread while the object lives. The destructor discards a SIGPIPE that came meanwhile and
/// restores the thread's signal mask. Create and destroy it in one thread.
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
