// What an agent asks of the policy, as the sampler needs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "records/rollout_record.h"
#include "rollout/sampler.h"

namespace roll {

/// A trajectory so far, and how its next turn is drawn.
struct AgentTurn {
  std::vector<int64_t> prompt_ids{};  // of the agent's first request
  std::vector<int64_t> ids{};         // since then, the agent's included
  std::vector<float> log_probs{};     // of these; 0 for the agent's
  std::vector<Turn> turns{};          // that share them out
  int64_t max_new_tokens = 0;
  std::vector<std::string> stop_strings{};
  bool include_stop_str_in_output = false, skip_special_tokens = true;
  std::optional<uint64_t> seed{};  // of its random numbers; none: those of its place
  template <class F>
  void fields(F& field) {
    field("prompt_ids", prompt_ids), field("ids", ids), field("log_probs", log_probs), field("turns", turns);
    field("max_new_tokens", max_new_tokens), field("stop_strings", stop_strings);
    field("include_stop_str_in_output", include_stop_str_in_output);
    field("skip_special_tokens", skip_special_tokens), field("seed", seed);
  }
};

}  // namespace roll
