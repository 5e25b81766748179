// Estimates how many tokens a batch of responses still needs, for progress reports and remaining time.
#pragma once

#include <cstdint>

namespace roll {

class RemainingTokens {
 public:
  /// count: responses; most_tokens: sum of their token limits.
  RemainingTokens(int64_t count, int64_t most_tokens) : num_open_(count), open_limit_(most_tokens) {}

  /// Counts newly drawn tokens.
  void drew(int64_t tokens) {
    drawn_ += tokens;
    open_drawn_ += tokens;
  }
  /// Marks a response as ended. tokens: its length, already counted by drew(); limit: its token limit.
  void ended(int64_t tokens, int64_t limit);

  /// Returns the tokens drawn so far.
  int64_t drawn() const { return drawn_; }
  /// Returns the expected number of tokens still to draw: open responses x (drawn tokens / ended responses), at most
  /// their limits. This is the maximum-likelihood estimate if every token has the same chance to be the last.
  double estimate() const;
  /// Returns drawn / (drawn + estimate()), in 0 .. 1.
  double share_done() const;

 private:
  int64_t num_open_, open_limit_;
  int64_t num_ended_ = 0, drawn_ = 0, open_drawn_ = 0;
};

}  // namespace roll
