// Who answers a line with a line, in its own time: nobody waits for it, so that one thread has as many as it likes.
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
  /// Asks; a peer that is not there is started.
  virtual void begin(const std::string& line, double timeout_s) = 0;
  /// The answer, once it is there: to be asked for whenever one of `polls` is ready or next_look() has come.
  /// EnvironmentFailed: there will be none, and the peer is gone, with all that it had started.
  virtual std::optional<std::string> go_on() = 0;
  virtual void add_polls(std::vector<pollfd>& polls) const = 0;
  virtual Clock::time_point next_look() const = 0;
  /// It has broken the rules. What it said about that, if anything.
  virtual std::string drop() = 0;
};

}  // namespace roll
