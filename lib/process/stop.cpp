#include "process/stop.h"

#include <algorithm>
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

// Globals, because a signal handler can reach nothing else.
std::atomic<int> stop_request{kNone};
std::atomic<bool> was_interrupted{false};  // SIGINT or SIGTERM has come
std::atomic<double> limit_s{kNever};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a handler may only touch lock-free atomics");

void set_request(StopKind kind) {
  int no_request = kNone;
  stop_request.compare_exchange_strong(no_request, static_cast<int>(kind));
}

struct KindRow {
  StopKind kind;
  const char* words;
  int signal, stand_in, exit_code;
};
// mpirun forwards SIGUSR1 and SIGUSR2 to its ranks, and SIGVTALRM and SIGPROF because launch.cpp asks it to. Nothing
// else here uses these. A signal in several rows has the kind of the first row.
constexpr KindRow kKinds[] = {
    {StopKind::kInterrupt, "Ctrl-C (SIGINT)", SIGINT, SIGVTALRM, 128 + SIGINT},
    {StopKind::kTerminate, "SIGTERM", SIGTERM, SIGUSR2, 128 + SIGTERM},
    {StopKind::kPreempt, "SIGUSR1", SIGUSR1, SIGUSR1, kTempFail},
    {StopKind::kTimeLimit, "the time limit", SIGUSR1, SIGUSR1, kTempFail},
    {StopKind::kHangup, "SIGHUP (the terminal is gone)", SIGHUP, SIGPROF, 128 + SIGHUP},
};

const KindRow& kind_row(StopKind kind) {
  return *std::ranges::find(kKinds, kind, &KindRow::kind);
}

extern "C" void note_signal(int number) {
  const auto kind = find_stop_kind(number);
  if (!kind) return;
  set_request(*kind);
  const bool is_interrupt = *kind == StopKind::kInterrupt || *kind == StopKind::kTerminate;
  if (!is_interrupt || !was_interrupted.exchange(true)) return;
  std::signal(kind_row(*kind).signal, SIG_DFL);
  std::raise(kind_row(*kind).signal);
}

void catch_signal(int number) {
  struct sigaction action {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  if (sigaction(number, &action, nullptr) != 0) throw system_error("sigaction of signal {}{}", number, errno_text());
}

}  // namespace

int stand_in_signal(StopKind kind) {
  return kind_row(kind).stand_in;
}

std::optional<StopKind> find_stop_kind(int signal) {
  for (const KindRow& row : kKinds)
    if (signal == row.signal || signal == row.stand_in) return row.kind;
  return std::nullopt;
}

int exit_code_for(StopKind kind) {
  return kind_row(kind).exit_code;
}

Stopped::Stopped(StopKind k, const std::string& details)
    : std::runtime_error(std::string("stopped by ") + kind_row(k).words + details), kind(k) {}

void ignore_stop_signals() {
  for (const KindRow& row : kKinds)
    for (const int number : {row.signal, row.stand_in}) std::signal(number, SIG_IGN);
}

void catch_stop_signals() {
  for (const KindRow& row : kKinds)
    for (const int number : {row.signal, row.stand_in})
      if (number != SIGHUP || !ignores_hangup()) catch_signal(number);
}

bool ignores_hangup() {
  struct sigaction action {};
  return ::sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void stop_at(double wall_clock_s) noexcept {
  limit_s.store(wall_clock_s);
}

std::optional<StopKind> requested_stop() noexcept {
  if (const int kind = stop_request.load(std::memory_order_relaxed)) return static_cast<StopKind>(kind);
  if (wall_clock_s() < limit_s.load(std::memory_order_relaxed)) return std::nullopt;
  return StopKind::kTimeLimit;
}

void throw_if_stopped() {
  if (const auto kind = requested_stop()) throw Stopped(*kind);
}

void request_stop(std::optional<StopKind> kind) noexcept {
  stop_request.store(kind ? static_cast<int>(*kind) : kNone);
  if (!kind) was_interrupted.store(false);
}

}  // namespace roll
