#include "base/stop.h"

#include <atomic>
#include <csignal>
#include <string>

#include "base/error.h"

namespace roll {

namespace {

// A signal handler can reach nothing but a global; this is the one.
std::atomic<int> wish{0};
static_assert(std::atomic<int>::is_always_lock_free, "a handler may only touch lock-free atomics");

// SA_RESETHAND gives the signal back its default action, so that the second one ends a process that does not listen.
extern "C" void note_signal(int number) {
  wish.store(number == SIGUSR1 ? SIGINT : number == SIGUSR2 ? SIGTERM : number, std::memory_order_relaxed);
}

}  // namespace

Stopped::Stopped(int signal_number)
    : std::runtime_error(std::string("stopped by ") + (signal_number == SIGINT ? "Ctrl-C (SIGINT)" : "SIGTERM")),
      signal(signal_number) {}

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2})
    if (sigaction(number, &action, nullptr) != 0) throw system_error("sigaction of signal {}{}", number, errno_text());
}

int stop_signal() noexcept {
  return wish.load(std::memory_order_relaxed);
}

void throw_if_stopped() {
  if (const int number = stop_signal()) throw Stopped(number);
}

void request_stop(int signal_number) noexcept {
  wish.store(signal_number, std::memory_order_relaxed);
}

}  // namespace roll
