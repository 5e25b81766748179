// Shows the progress of a phase of a step, such as sampling, with rate and time left. On a terminal one line is
// redrawn; elsewhere a plain line is printed every 10 s.
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

/// Log to which a function shows its progress, and its name there.
struct Phase {
  Log* log = nullptr;  // null: no progress is shown
  std::string name;    // "generate"
};

/// Shows progress from construction to destruction, on ranks where log.shows_progress(); elsewhere only counts. All
/// members are thread-safe; the object has a thread that draws.
class Progress {
 public:
  /// `phase`: name of the phase, e.g. "generate"; `total`: expected number of items, 0 if unknown; `unit`: plural noun
  /// for the items, e.g. "responses". `log` must outlive the object.
  Progress(Log& log, std::string phase, int64_t total, std::string unit);
  /// Removes the line from the terminal.
  ~Progress();

  /// Reports `n` more items as done.
  void advance(int64_t n = 1) { done_ += n; }
  /// Sets the fraction of the work that is done, 0 to 1, for the prediction of the time left; before, it is done() /
  /// total.
  void share(double done) { share_ = done; }
  /// Adds `n`, which may be negative, to the expected number of items.
  void expect(int64_t n) { total_ += n; }
  /// Sets a text for the end of the line, e.g. "loss 0.53".
  void detail(std::string text);
  /// Number of items done.
  int64_t done() const { return done_; }
  /// Seconds since construction.
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
