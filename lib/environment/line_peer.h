// Interface of a peer that answers each line with a line, without blocking, so that one thread can serve many. For
// CommandPlayer and ProgramServer.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "process/child_process.h"

namespace roll {

class LinePeer {
 public:
  using Clock = ChildProcess::Clock;
  virtual ~LinePeer() = default;
  /// Sends a question; starts the peer if it is not running.
  virtual void begin(const std::string& line, double timeout_s) = 0;
  /// Returns the answer once it is there. Call it when a descriptor of add_polls() is ready or next_look() has come.
  /// EnvironmentFailed: there is no answer; the peer and all that it started are stopped.
  virtual std::optional<std::string> advance() = 0;
  /// Adds the descriptors to wait for.
  virtual void add_polls(std::vector<pollfd>& polls) const = 0;
  /// Returns when advance() is due even if no descriptor is ready.
  virtual Clock::time_point next_look() const = 0;
  /// Stops a peer that broke the protocol. Returns its last error output, if any.
  virtual std::string drop() = 0;
};

}  // namespace roll
