// Answer of an environment, or of an external agent, to a turn of the model in a trajectory. For TurnSource.
#pragma once

#include <optional>
#include <string>

#include "environment/environment.h"
#include "records/agent_turn.h"

namespace roll {

/// An answer to the model's message, or the reason why there is none.
struct TurnAnswer {
  Reaction reaction{};                      // not used if `fault` is set, or while an agent continues
  std::optional<EnvironmentFault> fault{};  // set if the environment failed, which ends the trajectory
  std::string why{};                        // describes the fault, as text after "the environment"
  bool is_late = false;                     // the trajectory has taken longer than max_seconds; ignored for agents
  /// Agents only: the next request. With a fault or reaction.is_done: tokens and turns up to the last sampled turn.
  std::optional<AgentTurn> agent{};
};

/// Converts an exception of an environment to an answer with a fault.
inline TurnAnswer fault_answer(const EnvironmentFailed& failure) {
  return {.fault = failure.fault, .why = failure.what()};
}

}  // namespace roll
