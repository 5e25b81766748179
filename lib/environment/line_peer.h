// Interface of a peer: a program or object that answers each line of text with a line. The functions do not block, so
// that one thread can talk to many peers. For command_player.h and program_server.h.
#pragma once

#include <poll.h>

#include <optional>
#include <string>
#include <vector>

#include "process/child_process.h"

namespace roll {

/// Not thread-safe.
class LinePeer {
 public:
  using Clock = ChildProcess::Clock;
  virtual ~LinePeer() = default;
  /// Begins to send a question; starts the peer if it is not running. `line`: the question, without a newline.
  /// `timeout_s`: seconds for the answer. Call it only after advance() has returned the last answer or thrown. Errors
  /// are thrown by advance().
  virtual void begin(const std::string& line, double timeout_s) = 0;
  /// Continues the exchange. Returns the answer, without a newline; nullopt if it has not come yet. Call it again when
  /// a descriptor of add_polls() is ready, or at next_check_time(). Throws EnvironmentFailed if there is no answer; the
  /// peer and its descendants are then stopped, and start again at the next begin().
  virtual std::optional<std::string> advance() = 0;
  /// Appends the descriptors to wait for.
  virtual void add_polls(std::vector<pollfd>& polls) const = 0;
  /// Returns the time at which advance() must be called even if no descriptor is ready.
  virtual Clock::time_point next_check_time() const = 0;
  /// Stops a peer whose answer was invalid; the next begin() starts it again. Returns the end of its error output, or
  /// "".
  virtual std::string drop() = 0;
};

}  // namespace roll
