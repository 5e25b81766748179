// A cancellation token for HTTP requests and reward workers: after cancel(), their waits (for a server, a child program
// or the end of a pause) end at once.
#pragma once

#include "base/descriptor.h"

namespace roll {

class Cancellation {
 public:
  /// Throws SystemError if the process has no file descriptor left.
  Cancellation();

  /// Sets the token; it stays set until reset(). May be called from any thread, any number of times.
  void cancel();
  /// Clears the token.
  void reset();
  bool is_cancelled() const;
  /// Sleeps for `seconds`. Returns true after that time; returns false at once when the token is set.
  bool sleep(double seconds) const;
  /// Returns a descriptor for poll(2), which is readable while the token is set. This object owns it.
  int descriptor() const { return event_.get(); }

 private:
  Descriptor event_;
};

}  // namespace roll
