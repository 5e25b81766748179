// The parts whose weighted sum is a response's reward: the type's reward or each of several terms (terms.h), and each
// penalty and bonus (shaped.cpp). Advantage estimators that treat the parts separately use them.
#pragma once

#include <vector>

#include "base/json.h"

namespace roll {

/// One part; it contributes weight x reward.
struct RewardPart {
  double weight = 1;
  double reward = 0;

  template <class F>
  void fields(F& field) {
    field("weight", weight), field("reward", reward);
  }
  bool operator==(const RewardPart&) const = default;
};

/// Returns [[weight, reward], ...]: the form in which a recorded response keeps its parts, as the member "parts" of its
/// reward detail. Responses with a single part do not record it.
Json parts_json(const std::vector<RewardPart>& parts);

/// Returns the parts of a recorded response with this detail and total reward; a single part of weight 1 if the detail
/// has no "parts". Throws UserError if "parts" is not a list of [weight, reward].
std::vector<RewardPart> reward_parts(const Json& detail, double reward);

}  // namespace roll
