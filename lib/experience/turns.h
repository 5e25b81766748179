// The turns of responses in an environment, as facts: which tokens are the model's, what each turn earned, and what it
// sees.
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

/// Tokens [begin, end) of a response are a turn of the model's; those between turns are the environment's, and carry no
/// loss. A fresh turn has a context of its own: the environment's tokens before it are its prompt, and nothing from
/// there on sees what was before.
struct TurnFact {
  int32_t begin = 0, end = 0;
  uint32_t state = 0;  // equal where turns began with the same observation
  double reward = 0;
  bool is_fresh = false;
  template <class F>
  void fields(F& field) {
    field("begin", begin), field("end", end), field("state", state), field("reward", reward);
    field("is_fresh", is_fresh);
  }
  bool operator==(const TurnFact&) const = default;
};

using Turns = std::vector<TurnFact>;  // of a response, in their order; empty: all of its tokens are the model's

/// Tokens of each context of a prompt and its response; together they are all of them.
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
