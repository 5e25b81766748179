// A step of sampling and training, reduced to the lengths, groups and domains of its sequences: the input of
// simulations (simulation.h) and time forecasts. Made by step_source.h and length_trial.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "records/rollout_record.h"

namespace roll {

/// Turn of a sequence, sampled as one request with a context of num_cached + num_prompt tokens.
struct ThinTurn {
  int64_t num_cached = 0;   // tokens of the context that are in the KV cache from earlier turns
  int64_t num_prompt = 0;   // other tokens of the context: the prompt, or the environment's tokens before the turn
  int64_t num_sampled = 0;  // tokens that the model samples
};

/// Lengths, groups and domains of a step's B sequences (over all ranks).
struct ThinStep {
  int64_t number = 1;      // number of the step, from 1
  int64_t group_size = 1;  // sequences per prompt; group g is sequences [g * group_size, (g + 1) * group_size)
  std::vector<int64_t> prompt_lengths;       // [B] tokens
  std::vector<int64_t> response_lengths;     // [B] tokens, including the environment's
  std::vector<std::string> domain_of_group;  // [B / group_size]
  std::vector<std::vector<Turn>> turns{};  // [B] turns of each; empty, as a whole or for one: the response is one turn

  int64_t num_sequences() const { return std::ssize(prompt_lengths); }
  int64_t num_groups() const { return std::ssize(domain_of_group); }
  /// Returns [B] lengths of prompt plus response.
  std::vector<int64_t> lengths() const {
    std::vector<int64_t> all = prompt_lengths;
    for (size_t i = 0; i < all.size(); ++i) all[i] += response_lengths[i];
    return all;
  }
  /// Returns the turns of sequence number `sequence`; without recorded turns, the whole response is one turn.
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
