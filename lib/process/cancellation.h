// Cancellation is a cancellation token for HTTP requests and reward workers: after cancel(), their waits (for a server,
// a child program or the end of a pause) end at once. Any thread may call any function.
#pragma once

#include "base/descriptor.h"

namespace roll {

class Cancellation {
 public:
  /// Throws SystemError if the process has no file descriptor left.
  Cancellation();

  /// Sets the token; it stays set until reset(). Further calls have no effect.
  void cancel();
  /// Clears the token.
  void reset();
  /// Returns true if the token is set.
  bool is_cancelled() const;
  /// Sleeps for `seconds` and returns true. Returns false at once if the token is set, or when it gets set.
  bool sleep(double seconds) const;
  /// Returns a descriptor for poll(2), which is readable while the token is set. This object owns it.
  int descriptor() const { return event_.get(); }

 private:
  Descriptor event_;
};

}  // namespace roll
