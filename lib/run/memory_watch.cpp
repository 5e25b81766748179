#include "run/memory_watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

namespace roll {

namespace {

constexpr auto kWatchPeriod = std::chrono::milliseconds(50);

int64_t resident_bytes() {
  int64_t total_pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

MemoryWatch::MemoryWatch() : watcher_([this](const std::stop_token& stop) { watch(stop); }) {}

void MemoryWatch::begin(const std::string& phase) {
  const std::lock_guard lock(mutex_);
  sample();
  phase_ = phase;
  sample();
}

Metrics MemoryWatch::take() {
  const std::lock_guard lock(mutex_);
  sample();
  Metrics metrics;
  for (const auto& [phase, bytes] : std::exchange(peak_bytes_, {}))
    metrics.add("memory/" + phase + "/resident_bytes@max", static_cast<double>(bytes));
  return metrics;
}

void MemoryWatch::sample() {
  if (phase_.empty()) return;
  int64_t& peak = peak_bytes_[phase_];
  peak = std::max(peak, resident_bytes());
}

void MemoryWatch::watch(const std::stop_token& stop) {
  std::mutex wait_mutex;
  std::unique_lock lock(wait_mutex);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, kWatchPeriod, [] { return false; });
    const std::lock_guard data_lock(mutex_);
    sample();
  }
}

}  // namespace roll
