#include "process/pipe_signal.h"

#include <ctime>

namespace roll {

PipeSignalBlocked::PipeSignalBlocked() {
  sigemptyset(&pipe_);
  sigaddset(&pipe_, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_, &previous_mask_);
}

PipeSignalBlocked::~PipeSignalBlocked() {
  const timespec now = {0, 0};
  if (sigismember(&previous_mask_, SIGPIPE) == 0)
    while (sigtimedwait(&pipe_, nullptr, &now) > 0) {
    }
  pthread_sigmask(SIG_SETMASK, &previous_mask_, nullptr);
}

}  // namespace roll
