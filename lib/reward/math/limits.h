// Limits on what a malformed answer may cost. A response is untrusted text: every loop over it is linear, every tree
// bounded, every comparison has a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>

namespace roll::math {

constexpr size_t kMaxAnswerBytes = 2000;  // longer answers are only compared as text
constexpr int kMaxDepth = 60;
constexpr int kMaxNodes = 1500;

/// The answer is no mathematics that this parser reads, or too much of it. Never leaves compare.cpp.
struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The time limit passed. Thrown by Deadline::check, reported as {"error": "timeout"}.
struct TimeLimitPassed : std::runtime_error {
  TimeLimitPassed() : std::runtime_error("time limit") {}
};

/// A cooperative deadline: looks at the clock at every 64th check.
class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds))) {}
  void check() {
    if (++count_ % 64 == 0 && std::chrono::steady_clock::now() > end_) throw TimeLimitPassed();
  }

 private:
  std::chrono::steady_clock::time_point end_;
  uint32_t count_ = 0;
};

}  // namespace roll::math
