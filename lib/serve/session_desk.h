// Sessions of agents: requests that belong together, and in the end what they were worth. Whoever takes a session asks
// for all of it, under its name.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/json.h"
#include "serve/pending_answer.h"

namespace roll {

/// Any thread.
class SessionDesk {
 public:
  virtual ~SessionDesk() = default;
  /// The next session that nobody has taken: an object with its "id"; none within `patience`. `who` takes it, as the
  /// server knows them. Unavailable: there will be no more.
  virtual std::optional<Json> take(const std::string& who, std::chrono::milliseconds patience) = 0;
  /// The agent that took it has gone before it heard of it: another may take it.
  virtual void give_back(const std::string& id) = 0;
  /// Null if `who` has taken no such session, or it is over.
  virtual std::shared_ptr<CompletionSink> find(const std::string& id, const std::string& who) = 0;
  /// The agent says how its session ended. False if find() is null. UserError if `body` does not say it.
  virtual bool end(const std::string& id, const std::string& who, const Json& body) = 0;
};

}  // namespace roll
