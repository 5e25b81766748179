// Answer of an environment or an agent between two turns of a trajectory, for TurnSource.
#pragma once

#include <optional>
#include <string>

#include "environment/environment.h"
#include "records/agent_turn.h"

namespace roll {

/// An answer to the model's message, or the reason why there is none.
struct TurnAnswer {
  Reaction reaction{};
  std::optional<EnvironmentFault> fault{};
  std::string why{};                 // describes the fault
  bool is_late = false;              // the trajectory's max_seconds are over
  std::optional<AgentTurn> agent{};  // an agent's next request; with a fault or at the end, its last state
};

inline TurnAnswer fault_answer(const EnvironmentFailed& failure) {
  return {.fault = failure.fault, .why = failure.what()};
}

}  // namespace roll
