// A multi-turn response in an environment while it is sampled, for TurnSource.
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
enum class TrajectoryCut { kTurns, kTokens, kTime };
constexpr auto enum_names(TrajectoryCut) {
  return std::to_array<Named<TrajectoryCut>>(
      {{TrajectoryCut::kTurns, "turns"}, {TrajectoryCut::kTokens, "tokens"}, {TrajectoryCut::kTime, "time"}});
}

struct Trajectory {
  Generation generation{};           // all tokens; environment tokens have log-prob 0
  std::vector<Turn> turns{};         // the last one may be unfinished
  std::vector<PastTurn> past{};      // shown to later turns, if each turn has its own context
  std::vector<int64_t> prompt{};     // prompt of the current turn in its own context; empty: the row's
  std::optional<AgentTurn> agent{};  // the agent's last request
  std::vector<Json> answers{};       // the environment's messages between turns, one list per gap
  std::optional<bool> succeeded{};
  std::optional<ToolCounts> tools{};  // over all turns; unset without tools
  bool is_done = false;
  std::optional<TrajectoryCut> cut{};
  std::optional<TurnAnswer> failed{};
  int64_t session = -1;        // number in the leader's pool; -1: none
  bool awaits_answer = false;  // from the environment
  std::string observation{};   // shown to the next turn
  Stopwatch watch{};           // time since the start
};

/// Returns the reward of a finished trajectory: the sum of its turns' rewards. The score is 1 or 0 if the environment
/// reports success or failure, else the reward. A trajectory whose environment failed has neither.
RewardResult reward_result(const Trajectory& trajectory);

}  // namespace roll
