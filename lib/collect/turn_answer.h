// TurnAnswer is the answer of an environment to a turn of the model in a trajectory. If an external agent (a program
// that asks the model for turns over HTTP) drives the trajectory, it is a message of the agent instead.
// EnvironmentPool::take() returns it to TurnSource.
#pragma once

#include <optional>
#include <string>

#include "environment/environment.h"
#include "records/agent_turn.h"

namespace roll {

/// An answer to the model's message, or the fault that prevented it.
struct TurnAnswer {
  Reaction reaction{};                      // the environment's answer, or an agent's last reward; otherwise default
  std::optional<EnvironmentFault> fault{};  // set if the environment or agent failed, which ends the trajectory
  /// Describes the fault, as text that messages show after "the environment", e.g. "gave no answer within 10 s". Empty
  /// without a fault.
  std::string why{};
  /// True if the trajectory has taken longer than max_seconds. TurnSource sets it when it takes the answer. For agents
  /// it has no effect, because AgentSessions watches their time.
  bool is_late = false;
  /// Only from agents. While a session goes on, this is the turn that the agent requests next: the trajectory so far
  /// and sampling settings. At its end (`fault` or reaction.is_done) it holds the trajectory up to the last sampled
  /// turn. It is unset if the session failed before the agent's first request.
  std::optional<AgentTurn> agent{};
};

/// Converts an exception of an environment to an answer with a fault.
inline TurnAnswer fault_answer(const EnvironmentFailed& failure) {
  return {.fault = failure.fault, .why = failure.what()};
}

}  // namespace roll
