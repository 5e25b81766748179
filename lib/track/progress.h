// How far a phase is: a line with rate and time left, redrawn on a terminal; a plain line every 10 s elsewhere, so that
// no wait is silent and no log drowns.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/log.h"

namespace roll {

class Progress {
 public:
  /// `phase` e.g. "generate", `unit` e.g. "responses"; `total` 0: unknown. Only rank 0's log draws.
  Progress(Log& log, std::string phase, int64_t total, std::string unit);
  /// Takes the line away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `n` more are done; `detail` (optional) is shown at the end, e.g. "loss 0.53". From any thread.
  void advance(int64_t n = 1, const std::string& detail = {});
  int64_t done() const { return done_; }
  double seconds() const { return watch_.seconds(); }

 private:
  std::string line(double seconds) const;

  Log& log_;
  std::string phase_, unit_, detail_;
  int64_t total_;
  std::atomic<int64_t> done_ = 0;
  Stopwatch watch_;
  std::mutex mutex_;
  double last_drawn_s_ = -1;
  double last_plain_s_ = 0;
};

}  // namespace roll
