#include "run/memory_watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

namespace roll {

namespace {

constexpr auto kWatchPeriod = std::chrono::milliseconds(50);

int64_t resident_bytes() {
  int64_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

MemoryWatch::MemoryWatch() : watcher_([this](const std::stop_token& stop) { watch(stop); }) {}

void MemoryWatch::begin(const std::string& phase) {
  const std::lock_guard lock(mutex_);
  look();
  phase_ = phase;
  look();
}

Metrics MemoryWatch::take() {
  const std::lock_guard lock(mutex_);
  look();
  Metrics metrics;
  for (const auto& [phase, bytes] : std::exchange(most_, {}))
    metrics.add("memory/" + phase + "/resident_bytes@max", static_cast<double>(bytes));
  return metrics;
}

void MemoryWatch::look() {
  if (phase_.empty()) return;
  int64_t& most = most_[phase_];
  most = std::max(most, resident_bytes());
}

void MemoryWatch::watch(const std::stop_token& stop) {
  std::mutex own;
  std::unique_lock lock(own);
  while (!stop.stop_requested()) {
    woken_.wait_for(lock, stop, kWatchPeriod, [] { return false; });
    const std::lock_guard looking(mutex_);
    look();
  }
}

}  // namespace roll
