#include "process/stop.h"

#include <atomic>
#include <csignal>
#include <limits>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

namespace {

constexpr int kNone = 0;
constexpr int kTempFail = 75;
constexpr double kNever = std::numeric_limits<double>::infinity();

// A signal handler can reach nothing but globals; these are they, and the time limit beside them.
std::atomic<int> wish{kNone};
std::atomic<bool> insisted{false};  // SIGINT or SIGTERM has come
std::atomic<double> limit_s{kNever};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a handler may only touch lock-free atomics");

void wish_for(StopKind kind) {
  int none = kNone;
  wish.compare_exchange_strong(none, static_cast<int>(kind));
}

/// SIGINT or SIGTERM, or its stand-in.
void insist(StopKind kind) {
  wish_for(kind);
  if (!insisted.exchange(true)) return;
  const int number = kind == StopKind::kInterrupt ? SIGINT : SIGTERM;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

extern "C" void note_interrupt(int) {
  insist(StopKind::kInterrupt);
}
extern "C" void note_terminate(int) {
  insist(StopKind::kTerminate);
}
extern "C" void note_preempt(int) {
  wish_for(StopKind::kPreempt);
}
extern "C" void note_hangup(int) {
  wish_for(StopKind::kHangup);
}

void catch_signal(int number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  if (sigaction(number, &action, nullptr) != 0) throw system_error("sigaction of signal {}{}", number, errno_text());
}

const char* words_of(StopKind kind) {
  switch (kind) {
    case StopKind::kInterrupt:
      return "Ctrl-C (SIGINT)";
    case StopKind::kTerminate:
      return "SIGTERM";
    case StopKind::kPreempt:
      return "SIGUSR1";
    case StopKind::kTimeLimit:
      return "the time limit";
    case StopKind::kHangup:
      return "SIGHUP (the terminal is gone)";
  }
  throw Bug("a wish to stop has a kind");
}

}  // namespace

int stand_in_signal(StopKind kind) {
  // mpirun hands on SIGUSR1 and SIGUSR2, and SIGVTALRM and SIGPROF when told to (launch.cpp); nothing else here uses
  // these.
  return kind == StopKind::kInterrupt   ? SIGVTALRM
         : kind == StopKind::kTerminate ? SIGUSR2
         : kind == StopKind::kHangup    ? SIGPROF
                                        : SIGUSR1;
}

std::optional<StopKind> stop_kind_of(int signal) {
  if (signal == SIGINT || signal == stand_in_signal(StopKind::kInterrupt)) return StopKind::kInterrupt;
  if (signal == SIGTERM || signal == stand_in_signal(StopKind::kTerminate)) return StopKind::kTerminate;
  if (signal == SIGHUP || signal == stand_in_signal(StopKind::kHangup)) return StopKind::kHangup;
  if (signal == stand_in_signal(StopKind::kPreempt)) return StopKind::kPreempt;
  return std::nullopt;
}

int exit_code_of(StopKind kind) {
  return kind == StopKind::kInterrupt   ? 128 + SIGINT
         : kind == StopKind::kTerminate ? 128 + SIGTERM
         : kind == StopKind::kHangup    ? 128 + SIGHUP
                                        : kTempFail;
}

Stopped::Stopped(StopKind k, const std::string& more)
    : std::runtime_error(std::string("stopped by ") + words_of(k) + more), kind(k) {}

void catch_stop_signals() {
  for (const int number : {SIGINT, stand_in_signal(StopKind::kInterrupt)}) catch_signal(number, note_interrupt);
  for (const int number : {SIGTERM, stand_in_signal(StopKind::kTerminate)}) catch_signal(number, note_terminate);
  catch_signal(stand_in_signal(StopKind::kPreempt), note_preempt);
  catch_signal(stand_in_signal(StopKind::kHangup), note_hangup);
  if (!ignores_hangup()) catch_signal(SIGHUP, note_hangup);
}

bool ignores_hangup() {
  struct sigaction now {};
  return ::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void stop_at(double wall_clock_s) noexcept {
  limit_s.store(wall_clock_s);
}

std::optional<StopKind> stop_wish() noexcept {
  if (const int kind = wish.load(std::memory_order_relaxed)) return static_cast<StopKind>(kind);
  if (wall_clock_s() < limit_s.load(std::memory_order_relaxed)) return std::nullopt;
  return StopKind::kTimeLimit;
}

void throw_if_stopped() {
  if (const auto kind = stop_wish()) throw Stopped(*kind);
}

void request_stop(std::optional<StopKind> kind) noexcept {
  wish.store(kind ? static_cast<int>(*kind) : kNone);
  if (!kind) insisted.store(false);
}

}  // namespace roll
