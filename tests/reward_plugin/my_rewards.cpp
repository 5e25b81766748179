// Rewards of one's own, complete: right when the ground truth is somewhere in the response, less a price per token; and
// one that reads a column of the data row, and cannot judge rows without it.
//
//   rewards:
//     math: {type: plugin, library: build/libmy_rewards.so, name: contains, args: {per_token: 0.01}}
#include <roll/reward.h>

namespace {

roll::RewardOutput contains(const roll::RewardContext& c) {
  const bool is_right = c.response().find(c.ground_truth()) != std::string::npos;
  const double price = c.number("per_token", 0) * static_cast<double>(c.num_response_tokens());
  return {.reward = is_right - price, .score = is_right ? 1.0 : 0.0, .detail = {{"found", is_right ? "yes" : "no"}}};
}

roll::RewardOutput as_hard_as(const roll::RewardContext& c) {
  const auto difficulty = c.column("difficulty");
  if (!difficulty) throw std::runtime_error("the row has no difficulty");
  const double reward = std::stod(*difficulty);
  return {.reward = reward, .score = reward};
}

roll::RewardOutput infinite(const roll::RewardContext&) {
  return {.reward = 1e300 * 1e300};
}

}  // namespace

ROLL_REWARD(contains, contains)
ROLL_REWARD(as_hard_as, as_hard_as)
ROLL_REWARD(infinite, infinite)

extern "C" const roll::RewardExport roll_reward_too_new;
const roll::RewardExport roll_reward_too_new{roll::kRewardAbiVersion + 1, roll::kRewardCxxAbi, contains};
extern "C" const roll::RewardExport roll_reward_other_library;
const roll::RewardExport roll_reward_other_library{roll::kRewardAbiVersion, "libc++", contains};
