// Step with only lengths, groups and domains: the inputs of all plans over ranks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "records/rollout_record.h"

namespace roll {

/// Turn of a sequence, sampled as one request.
struct ThinTurn {
  int64_t num_cached = 0;   // tokens of its context that are already computed
  int64_t num_prompt = 0;   // tokens of its prompt or from the environment
  int64_t num_sampled = 0;  // sampled tokens
};

/// Lengths, groups and domains of a step's sequences.
struct ThinStep {
  int64_t number = 1;
  int64_t group_size = 1;
  std::vector<int64_t> prompt_lengths, response_lengths;  // [B] tokens, in group order
  std::vector<std::string> domain_of_group;
  std::vector<std::vector<Turn>> turns{};  // [B] turns; empty (whole or entry): the response is one turn

  int64_t num_sequences() const { return std::ssize(prompt_lengths); }
  int64_t num_groups() const { return std::ssize(domain_of_group); }
  /// Returns [B] lengths of prompt plus response.
  std::vector<int64_t> lengths() const {
    std::vector<int64_t> all = prompt_lengths;
    for (size_t i = 0; i < all.size(); ++i) all[i] += response_lengths[i];
    return all;
  }
  /// Returns the turns of a sequence; without recorded turns, the whole response is one.
  std::vector<ThinTurn> thin_turns(int64_t sequence) const {
    ThinTurn next{.num_prompt = prompt_lengths[sequence]};
    if (turns.empty() || turns[sequence].empty())
      return {{.num_prompt = next.num_prompt, .num_sampled = response_lengths[sequence]}};
    std::vector<ThinTurn> all;
    for (const Turn& turn : turns[sequence]) {
      if (!all.empty() && !turn.is_fresh)
        next.num_cached = all.back().num_cached + all.back().num_prompt + all.back().num_sampled;
      next.num_sampled = turn.num_tokens;
      all.push_back(std::exchange(next, {.num_prompt = turn.num_environment_tokens}));
    }
    return all;
  }
};

}  // namespace roll
