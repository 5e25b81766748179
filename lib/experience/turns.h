// The turns of responses in an environment, as facts: which tokens are the model's, and what each turn earned.
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

/// Tokens [begin, end) of a response are a turn of the model's; those between turns are the environment's, and carry no
/// loss.
struct TurnFact {
  int32_t begin = 0, end = 0;
  uint32_t state = 0;  // equal where turns began with the same observation
  double reward = 0;
  template <class F>
  void fields(F& field) {
    field("begin", begin), field("end", end), field("state", state), field("reward", reward);
  }
  bool operator==(const TurnFact&) const = default;
};

using Turns = std::vector<TurnFact>;  // of a response, in their order; empty: all of its tokens are the model's

}  // namespace roll
