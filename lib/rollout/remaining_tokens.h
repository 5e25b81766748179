// Estimates how many tokens a batch of responses still needs, for the progress line of `roll generate`. An open
// response is one that has not ended, whether it has started or not.
#pragma once

#include <cstdint>

namespace roll {

class RemainingTokens {
 public:
  /// `num_responses`: all responses of the batch. `most_tokens`: sum of their token limits.
  RemainingTokens(int64_t num_responses, int64_t most_tokens) : num_open_(num_responses), open_limit_(most_tokens) {}

  /// Counts `tokens` newly drawn tokens.
  void drew(int64_t tokens) {
    drawn_ += tokens;
    open_drawn_ += tokens;
  }
  /// Marks a response as ended. `tokens`: its length, already counted by drew(). `limit`: its token limit.
  void ended(int64_t tokens, int64_t limit);

  /// Returns the number of tokens drawn so far.
  int64_t drawn() const { return drawn_; }
  /// Returns the expected number of tokens still to draw: open responses x (drawn tokens / ended responses), but at
  /// most what the limits of the open responses leave (and just that before a response has ended). This is the
  /// maximum-likelihood estimate if every token has the same chance to be the last.
  double estimate() const;
  /// Returns drawn() / (drawn() + estimate()); 1 if nothing is left.
  double share_done() const;

 private:
  int64_t num_open_, open_limit_;
  int64_t num_ended_ = 0, drawn_ = 0, open_drawn_ = 0;
};

}  // namespace roll
