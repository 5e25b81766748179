// Interface through which CompletionServer hands out sessions to external agents; AgentSessions implements it. A
// session is a series of requests and a final reward. One agent takes it and makes all its requests, under the same
// name.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "serve/pending_answer.h"

namespace roll {

/// Thread-safe. `id`: text that identifies a session. `agent_name`: the name that the agent sends with its key; may be
/// empty.
class SessionDesk {
 public:
  virtual ~SessionDesk() = default;
  /// Takes the next free session for an agent. Returns {"id": ..., "seed": ..., "config": {...}}; nullopt if no session
  /// comes within `patience`, or this agent gets none any more. Throws Unavailable if the run is over.
  virtual std::optional<Json> take(const std::string& agent_name, std::chrono::milliseconds patience) = 0;
  /// Frees a session for other agents, because its agent hung up before it received the result of take().
  virtual void give_back(const std::string& id) = 0;
  /// Returns the object that answers requests of a session; null if it is over, unknown, or taken by another agent.
  virtual std::shared_ptr<CompletionSink> find(const std::string& id, const std::string& agent_name) = 0;
  /// Ends a session with the agent's reward. `body`: {"reward": number[, "success": true or false]}. Returns false if
  /// find() would return null. Throws UserError if `body` is invalid, or the agent has not sampled anything yet.
  virtual bool end(const std::string& id, const std::string& agent_name, const Json& body) = 0;
};

}  // namespace roll
