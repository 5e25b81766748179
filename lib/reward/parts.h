// The parts whose weighted sum is a response's reward. The reward type is one part, or each of several terms is one
// (terms.h); format_reward and each penalty are one part each (shaped.cpp). Used by advantage estimators that normalise
// each part on its own.
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

/// Returns [[weight, reward], ...]. A recorded response with several parts has this as the member "parts" of its reward
/// detail (RewardResult::detail); one with a single part lacks the member.
Json parts_json(const std::vector<RewardPart>& parts);

/// Returns the parts in a recorded response's reward detail. Without "parts" there, returns one part of weight 1 with
/// `reward`, the response's reward. Throws UserError if "parts" is not a list of [weight, reward].
std::vector<RewardPart> reward_parts(const Json& detail, double reward);

}  // namespace roll
