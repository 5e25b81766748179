// Limits on the cost of comparing an answer. A response is untrusted text: every loop over it is linear, every tree is
// bounded, and every comparison has a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>

namespace roll::math {

constexpr size_t kMaxAnswerBytes = 2000;  // longer answers are compared as text only
constexpr int kMaxDepth = 60;
constexpr int kMaxNodes = 1500;

/// The answer is not mathematics that this parser reads, or too long. compare.cpp catches it.
struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The time limit passed. Thrown by Deadline::check(), reported as {"error": "timeout"}.
struct TimeLimitPassed : std::runtime_error {
  TimeLimitPassed() : std::runtime_error("time limit") {}
};

/// A cooperative deadline: reads the clock at every 64th check. TimeLimitPassed: the time is over.
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
