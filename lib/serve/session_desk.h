// Interface through which CompletionServer hands out agent sessions. A session is a series of requests and a final
// reward; the agent that takes it makes all its requests, under the same name.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "serve/pending_answer.h"

namespace roll {

/// Thread-safe.
class SessionDesk {
 public:
  virtual ~SessionDesk() = default;
  /// Takes the next free session: an object with its "id"; nullopt if none comes within `patience`. `agent_name`: the
  /// agent's name, as the server knows it. Unavailable: there will be no more.
  virtual std::optional<Json> take(const std::string& agent_name, std::chrono::milliseconds patience) = 0;
  /// Frees a session whose agent hung up before it received the session.
  virtual void give_back(const std::string& id) = 0;
  /// Returns the sink of a session; null if `agent_name` has not taken it or it is over.
  virtual std::shared_ptr<CompletionSink> find(const std::string& id, const std::string& agent_name) = 0;
  /// Ends a session with the agent's reward. Returns false if find() would return null. UserError: `body` has no valid
  /// reward.
  virtual bool end(const std::string& id, const std::string& agent_name, const Json& body) = 0;
};

}  // namespace roll
