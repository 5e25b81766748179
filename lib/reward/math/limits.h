// Limits on the cost of comparing an answer. A response is untrusted text: every loop over the text is linear, every
// parsed tree is bounded, and every comparison has a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>

namespace roll::math {

constexpr size_t kMaxAnswerBytes = 2000;  // longer answers are compared as text only
constexpr int kMaxDepth = 60;             // nested constructs, such as brackets, that the parser reads
constexpr int kMaxNodes = 1500;           // nodes of a tree that can be evaluated (node.h)

/// Thrown if an answer is not mathematics that grammar.h reads, or exceeds a limit; compare_answers() catches it.
struct Unreadable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Thrown by Deadline::check() once the time is over; math_rule.cpp makes it a failed reward of kind kTimeout.
struct TimeLimitPassed : std::runtime_error {
  TimeLimitPassed() : std::runtime_error("time limit") {}
};

/// A cooperative deadline of one comparison, `seconds` from construction.
class Deadline {
 public:
  explicit Deadline(double seconds)
      : end_(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds))) {}
  /// Called in every step of the comparison. Reads the clock in every 64th call, and throws TimeLimitPassed if the time
  /// is over.
  void check() {
    if (++count_ % 64 == 0 && std::chrono::steady_clock::now() > end_) throw TimeLimitPassed();
  }

 private:
  std::chrono::steady_clock::time_point end_;
  uint32_t count_ = 0;
};

}  // namespace roll::math
