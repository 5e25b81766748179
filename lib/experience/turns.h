// Turns of a response in an environment: the tokens that the model sampled, each turn's reward, and where contexts
// begin. Part of ResponseFacts (response_facts.h).
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

/// One turn: one message of the model.
struct TurnFact {
  int32_t begin = 0, end = 0;  // response tokens [begin, end) were sampled; tokens between turns are the environment's
  uint32_t state = 0;          // equal for turns that began with the same observation
  double reward = 0;           // the environment's reward for this turn
  /// True: the turn starts a new context, whose prompt is the environment's tokens before the turn, and sees no earlier
  /// tokens. False, or the first turn: it continues the context.
  bool is_fresh = false;
  template <class F>
  void fields(F& field) {
    field("begin", begin), field("end", end), field("state", state), field("reward", reward);
    field("is_fresh", is_fresh);
  }
  bool operator==(const TurnFact&) const = default;
};

/// Turns of a response, in order. Empty: the response comes from no environment, and all its tokens were sampled.
using Turns = std::vector<TurnFact>;

/// Returns the lengths in tokens of the contexts of a sequence, in order. Their sum is prompt_length + response_length.
inline std::vector<int64_t> context_lengths(int64_t prompt_length, int64_t response_length, const Turns& turns) {
  std::vector<int64_t> lengths;
  int64_t begin = 0;
  for (size_t k = 1; k < turns.size(); ++k) {
    if (!turns[k].is_fresh) continue;
    const int64_t end = prompt_length + turns[k - 1].end;
    lengths.push_back(end - begin);
    begin = end;
  }
  lengths.push_back(prompt_length + response_length - begin);
  return lengths;
}

}  // namespace roll
