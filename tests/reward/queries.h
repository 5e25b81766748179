// Rewards and queries of the reward tests.
#pragma once

#include <string>

#include "reward/reward.h"

namespace roll {

inline RewardArgs args_of(RewardType type) {
  RewardArgs args;
  args.type = std::move(type);
  return args;
}

inline RewardArgs program(const std::string& script) {
  return args_of(CommandArgs{.command = {"sh", "-c", script}});
}

inline RewardQuery query_of(const std::string& response, const std::string& truth, int64_t tokens = 0) {
  RewardQuery query;
  query.response = response;
  query.ground_truth = truth;
  query.num_response_tokens = tokens;
  return query;
}

}  // namespace roll
