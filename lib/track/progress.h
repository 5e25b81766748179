// Progress of a phase with rate and time left. On a terminal one line is redrawn; elsewhere a plain line is printed
// every 10 s.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/log.h"

namespace roll {

/// A phase to show as progress; a null log shows nothing.
struct Phase {
  Log* log = nullptr;
  std::string name;
};

/// Shows progress from construction to destruction.
class Progress {
 public:
  /// Starts the display on ranks whose log shows progress. `phase` e.g. "generate", `unit` e.g. "responses"; `total` 0:
  /// unknown.
  Progress(Log& log, std::string phase, int64_t total, std::string unit);
  /// Removes the line.
  ~Progress();

  /// Reports `n` more items as done. Thread-safe; a separate thread draws, so that the time advances meanwhile.
  void advance(int64_t n = 1) { done_ += n; }
  /// Sets the fraction done, 0..1, if it predicts the time left better than the count. Thread-safe.
  void share(double done) { share_ = done; }
  /// Raises the total by `n`, which may be negative. Thread-safe.
  void expect(int64_t n) { total_ += n; }
  /// Sets a text for the end of the line, e.g. "loss 0.53". Thread-safe.
  void detail(std::string text);
  int64_t done() const { return done_; }
  double seconds() const { return watch_.seconds(); }

 private:
  void draw_until_stopped(const std::stop_token& stop);
  std::string line();

  Log& log_;
  std::string phase_, unit_, detail_;
  std::atomic<int64_t> total_, done_ = 0;
  std::atomic<double> share_ = 0;  // 0: use done_ / total_
  Stopwatch watch_;
  std::mutex mutex_;  // guards detail_
  std::condition_variable_any woken_;
  std::jthread drawer_;  // last member: stops before the others are destroyed
};

}  // namespace roll
