// Turns of a response in an environment: the model's tokens, each turn's reward, and where contexts begin.
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

/// One turn: tokens [begin, end) of the response were sampled; tokens between turns come from the environment and carry
/// no loss. A fresh turn starts a new context, whose prompt is the environment's tokens before it; it cannot see
/// earlier tokens.
struct TurnFact {
  int32_t begin = 0, end = 0;
  uint32_t state = 0;  // equal for turns that began with the same observation
  double reward = 0;
  bool is_fresh = false;
  template <class F>
  void fields(F& field) {
    field("begin", begin), field("end", end), field("state", state), field("reward", reward);
    field("is_fresh", is_fresh);
  }
  bool operator==(const TurnFact&) const = default;
};

using Turns = std::vector<TurnFact>;  // turns of a response, in order; empty: all its tokens were sampled

/// Returns the lengths of the contexts of a prompt and its response, in tokens.
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
