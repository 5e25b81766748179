#include "collect/trajectory.h"

#include <nlohmann/json.hpp>

namespace roll {

namespace {

RewardFailure reward_failure(EnvironmentFault fault) {
  switch (fault) {
    case EnvironmentFault::kTimeout:
      return RewardFailure::kTimeout;
    case EnvironmentFault::kCrash:
      return RewardFailure::kCrash;
    default:
      return RewardFailure::kUnparsable;
  }
}

}  // namespace

RewardResult reward_result(const Trajectory& trajectory) {
  if (trajectory.failed) {
    const EnvironmentFault fault = trajectory.failed->fault.value();
    RewardResult result = failed_reward(reward_failure(fault), "the environment " + trajectory.failed->why);
    result.detail["environment"] = enum_name(fault);
    return result;
  }
  double reward = 0;
  for (const Turn& turn : trajectory.turns) reward += turn.reward;
  RewardResult result = judged(trajectory.succeeded ? (*trajectory.succeeded ? 1 : 0) : reward);
  result.reward = reward;
  if (trajectory.succeeded) result.detail["success"] = *trajectory.succeeded;
  if (trajectory.tools) {
    result.detail["tool_calls"] = trajectory.tools->calls;
    result.detail["tool_errors"] = trajectory.tools->errors;
  }
  if (trajectory.cut) result.detail["cut"] = enum_name(*trajectory.cut);
  return result;
}

}  // namespace roll
