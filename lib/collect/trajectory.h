// State of one trajectory, which is a multi-turn response in an environment, while it is sampled. For TurnSource.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "collect/environment_pool.h"
#include "data/rows.h"
#include "environment/agent_text.h"
#include "records/rollout_record.h"
#include "reward/reward.h"
#include "rollout/sampler.h"

namespace roll {

/// Limit that ended a trajectory before its environment did.
enum class TrajectoryCut {
  kTurns,   // max_steps turns
  kTokens,  // response_length; or sequence_length, if each turn has its own context (turn_source.h)
  kTime     // max_seconds
};
constexpr auto enum_names(TrajectoryCut) {
  return std::to_array<Named<TrajectoryCut>>(
      {{TrajectoryCut::kTurns, "turns"}, {TrajectoryCut::kTokens, "tokens"}, {TrajectoryCut::kTime, "time"}});
}

struct Trajectory {
  Generation generation{};             // all tokens since the first prompt; environment tokens have log-prob 0
  std::vector<Turn> turns{};           // splits generation.ids; the last one may lack the environment's answer
  std::vector<PastTurn> past{};        // earlier turns, kept for later prompts if each turn has its own context
  std::vector<int64_t> prompt{};       // prompt of the current turn in its own context; empty: the data row's prompt
  std::optional<AgentTurn> agent{};    // last request of the external agent; unset: no agent plays
  std::vector<Json> answers{};         // one list of environment messages for each pair of consecutive turns
  std::optional<bool> succeeded{};     // unset: the environment has not reported success or failure
  std::optional<ToolCounts> tools{};   // over all turns; unset without tools
  bool is_done = false;                // the environment ended the trajectory
  std::optional<TrajectoryCut> cut{};  // the limit that ended the trajectory, if any
  std::optional<TurnAnswer> failed{};  // the environment's failure that ended the trajectory, if any
  int64_t session = -1;                // number in the leader's EnvironmentPool; -1 on other ranks
  bool awaits_answer = false;          // the environment must answer before the next turn
  std::string observation{};           // observation before the current turn
  Stopwatch watch{};                   // time since the start
};

/// Returns the result of a finished trajectory. The reward is the sum of its turns' rewards. The score is 1 or 0 if the
/// environment reported success or failure, else it is the reward. If the environment failed, returns failed_reward().
RewardResult reward_result(const Trajectory& trajectory);

}  // namespace roll
