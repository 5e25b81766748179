// How far a phase is: a line with rate and time left, redrawn on a terminal; a plain line every 10 s elsewhere, so that
// no wait is silent and no log drowns.
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

/// The phase that a loop shows itself as; without a log, nothing is shown.
struct Phase {
  Log* log = nullptr;
  std::string name;
};

class Progress {
 public:
  /// `phase` e.g. "generate", `unit` e.g. "responses"; `total` 0: unknown. Where the log shows progress: on rank 0, and
  /// where it is asked to.
  Progress(Log& log, std::string phase, int64_t total, std::string unit);
  /// Takes the line away.
  ~Progress();

  /// `n` more are done. From any thread; drawing happens in a thread of its own, so that time moves on while nothing
  /// else does.
  void advance(int64_t n = 1) { done_ += n; }
  /// What part of the work is done, in 0..1, where that says more of the time left than the count. From any thread.
  void share(double done) { share_ = done; }
  /// `n` more are to be done than was known, or fewer where it is negative. From any thread.
  void expect(int64_t n) { total_ += n; }
  /// Shown at the end of the line, e.g. "loss 0.53". From any thread.
  void detail(std::string text);
  int64_t done() const { return done_; }
  double seconds() const { return watch_.seconds(); }

 private:
  void draw_until_stopped(const std::stop_token& stop);
  std::string line();

  Log& log_;
  std::string phase_, unit_, detail_;
  std::atomic<int64_t> total_, done_ = 0;
  std::atomic<double> share_ = 0;  // 0: that of the count
  Stopwatch watch_;
  std::mutex mutex_;  // of detail_
  std::condition_variable_any woken_;
  std::jthread drawer_;  // last: it ends before what it draws
};

}  // namespace roll
