// The parts whose weighted sum is a response's reward: terms (terms.h), and penalties and bonuses (shaped.cpp).
#pragma once

#include <vector>

#include "base/json.h"

namespace roll {

struct RewardPart {
  double weight = 1;
  double reward = 0;

  template <class F>
  void fields(F& field) {
    field("weight", weight), field("reward", reward);
  }
  bool operator==(const RewardPart&) const = default;
};

/// Returns [[weight, reward], ...], the field `parts` in the detail of a recorded reward with several parts.
Json parts_json(const std::vector<RewardPart>& parts);

/// Returns the parts of a recorded reward; a single one if its detail has none. UserError: `parts` is no such list.
std::vector<RewardPart> reward_parts(const Json& detail, double reward);

}  // namespace roll
