#include "process/signal_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

#include "base/error.h"

namespace roll {

namespace {

std::atomic<int> written_end{-1};  // global, since a signal handler takes no other data

extern "C" void write_signal(int number) {
  const int saved_errno = errno;
  const auto byte = static_cast<uint8_t>(number);
  if (::write(written_end.load(), &byte, 1) < 0) {  // the pipe is full of signals
  }
  errno = saved_errno;
}

}  // namespace

SignalPipe::SignalPipe(const std::vector<int>& signals) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw system_error("pipe{}", errno_text());
  read_end_ = Descriptor(ends[0]);
  write_end_ = Descriptor(ends[1]);
  written_end = ends[1];
  struct sigaction action {};
  action.sa_handler = write_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : signals) {
    previous_actions_.emplace_back(number, (struct sigaction){});
    ::sigaction(number, &action, &previous_actions_.back().second);
  }
}

SignalPipe::~SignalPipe() {
  for (const auto& [number, action] : previous_actions_) ::sigaction(number, &action, nullptr);
  written_end = -1;
}

std::optional<int> SignalPipe::next() {
  uint8_t byte = 0;
  return ::read(read_end_.get(), &byte, 1) == 1 ? std::optional<int>(byte) : std::nullopt;
}

}  // namespace roll
