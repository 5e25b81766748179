// The rewards that a response's reward is the weighted sum of: terms (terms.h), and what shapes them (shaped.cpp).
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

/// [[weight, reward], ...], as `parts` in the detail of a recorded reward that has several.
Json parts_json(const std::vector<RewardPart>& parts);

/// Those of a recorded reward; one where its detail names none. UserError: they are no such list.
std::vector<RewardPart> parts_of(const Json& detail, double reward);

}  // namespace roll
