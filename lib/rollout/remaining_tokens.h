// How many tokens a batch of responses still takes, for the time that is left: nobody knows where a response ends.
#pragma once

#include <cstdint>

namespace roll {

class RemainingTokens {
 public:
  /// Responses, and the tokens that they have at most, together.
  RemainingTokens(int64_t count, int64_t most_tokens) : num_open_(count), most_of_open_(most_tokens) {}

  void drew(int64_t tokens) {
    drawn_ += tokens;
    drawn_of_open_ += tokens;
  }
  /// A response with `tokens` tokens, which drew() was called with before, has ended; it could have had `most`.
  void ended(int64_t tokens, int64_t most);

  int64_t drawn() const { return drawn_; }
  /// Each open response goes on for as long as one took on average so far (drawn tokens by ended responses: the maximum
  /// likelihood of a constant chance to end), together at most to their limits.
  double estimate() const;
  /// The drawn tokens as a share of all.
  double share_done() const;

 private:
  int64_t num_open_, most_of_open_;
  int64_t num_ended_ = 0, drawn_ = 0, drawn_of_open_ = 0;
};

}  // namespace roll
