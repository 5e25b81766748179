// AgentTurn is a turn that an external agent (a program that talks to the policy over OpenAI's API) requests from the
// policy, in the form that the sampler takes (collect/turn_source.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "records/rollout_record.h"
#include "rollout/sampler.h"

namespace roll {

/// A trajectory so far, and the sampling settings of its next turn.
struct AgentTurn {
  std::vector<int64_t> prompt_ids{};  // prompt of the agent's first request
  std::vector<int64_t> ids{};         // all tokens after prompt_ids: the policy's turns, each with the agent's answer
  std::vector<float> log_probs{};     // one per id in `ids`, nats; 0 for the agent's tokens
  std::vector<Turn> turns{};          // split of `ids` into turns
  int64_t max_new_tokens = 0;         // largest number of tokens of the next turn
  std::vector<std::string> stop_strings{};  // each ends the next turn
  bool include_stop_str_in_output = false;  // the stop string stays in the turn's text
  bool skip_special_tokens = true;          // special tokens are left out of the turn's text
  /// Random seed of the next turn; unset: that of the run. Either way a token's random number also depends on the
  /// trajectory and on the token's index in `ids`.
  std::optional<uint64_t> seed{};

  /// Serialises the turn as a part of messages between ranks (base/message.h).
  template <class F>
  void fields(F& field) {
    field("prompt_ids", prompt_ids), field("ids", ids), field("log_probs", log_probs), field("turns", turns);
    field("max_new_tokens", max_new_tokens), field("stop_strings", stop_strings);
    field("include_stop_str_in_output", include_stop_str_in_output);
    field("skip_special_tokens", skip_special_tokens), field("seed", seed);
  }
};

}  // namespace roll
