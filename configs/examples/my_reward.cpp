// A reward plug-in: right when the ground truth stands in the response, less a price per token. build_plugin.sh builds
// it.
#include <roll/reward.h>

static roll::RewardOutput contains(const roll::RewardContext& c) {
  const bool is_right = c.response().find(c.ground_truth()) != std::string::npos;
  const double price = c.number("per_token", 0) * static_cast<double>(c.num_response_tokens());
  return {.reward = is_right - price, .score = is_right ? 1.0 : 0.0, .detail = {{"found", is_right ? "yes" : "no"}}};
}

ROLL_REWARD(contains, contains)
