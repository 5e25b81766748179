// A response in an environment while it is sampled, turn by turn.
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

/// What ended a trajectory before its environment did.
enum class TrajectoryCut { kTurns, kTokens, kTime };
constexpr auto names_of(TrajectoryCut) {
  return std::to_array<Named<TrajectoryCut>>(
      {{TrajectoryCut::kTurns, "turns"}, {TrajectoryCut::kTokens, "tokens"}, {TrajectoryCut::kTime, "time"}});
}

struct Trajectory {
  Generation said{};                 // all of its tokens, the environment's with log-probs of 0
  std::vector<Turn> turns{};         // the last one may be under way
  std::vector<PastTurn> past{};      // as later turns are told of them, where each has a context of its own
  std::vector<int64_t> prompt{};     // there, of the turn under way; empty: the row's
  std::optional<AgentTurn> agent{};  // what its agent last asked
  std::vector<Json> answers{};       // of the environment, between them, as lists of messages
  std::optional<bool> succeeded{};
  std::optional<ToolCounts> tools{};  // of all turns, where there are tools
  bool is_done = false;
  std::optional<TrajectoryCut> cut{};
  std::optional<TurnAnswer> failed{};
  int64_t session = -1;        // in the pool of the leader; -1: none
  bool awaits_answer = false;  // of its environment
  std::string observation{};   // with which the turn to come begins
  Stopwatch watch{};           // since it began
};

/// The reward of one that is over: the sum of its turns' rewards; the score is 1 or 0 where the environment says
/// whether it succeeded, else the reward. One whose environment failed has neither.
RewardResult result_of(const Trajectory& trajectory);

}  // namespace roll
