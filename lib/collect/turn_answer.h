// What lies between two turns of a trajectory, as whoever asked for it hears it.
#pragma once

#include <optional>
#include <string>

#include "environment/environment.h"
#include "records/agent_turn.h"

namespace roll {

/// An answer to a message, or why there is none.
struct TurnAnswer {
  Reaction reaction{};
  std::optional<EnvironmentFault> fault{};
  std::string why{};                 // of a fault
  bool is_late = false;              // its trajectory has had its time
  std::optional<AgentTurn> agent{};  // what an agent asks; with a fault or at the end, all that there was
};

inline TurnAnswer fault_answer(const EnvironmentFailed& failure) {
  return {.fault = failure.fault, .why = failure.what()};
}

}  // namespace roll
