#include "process/pipe_signal.h"

#include <ctime>

namespace roll {

namespace {

sigset_t only_pipe() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  return set;
}

}  // namespace

void outlive_readers() {
  std::signal(SIGPIPE, SIG_IGN);
  const sigset_t pipe = only_pipe();
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

PipeSignalBlocked::PipeSignalBlocked() : pipe_(only_pipe()) {
  pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
}

PipeSignalBlocked::~PipeSignalBlocked() {
  const timespec now = {0, 0};
  if (sigismember(&before_, SIGPIPE) == 0)
    while (sigtimedwait(&pipe_, nullptr, &now) > 0) {
    }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace roll
