// A cancellation token for HTTP requests and reward workers: cancel() ends at once all waits for something outside this
// program, such as a server or a pause.
#pragma once

#include "base/descriptor.h"

namespace roll {

class Cancellation {
 public:
  /// SystemError: the process has no file descriptor left.
  Cancellation();

  /// May be called from any thread, any number of times.
  void cancel();
  /// Clears the cancellation.
  void reset();
  bool is_cancelled() const;
  /// Sleeps; returns false if cancelled before the time is over.
  bool sleep(double seconds) const;
  /// Returns an event descriptor for poll(2); it is readable while cancelled.
  int descriptor() const { return event_.get(); }

 private:
  Descriptor event_;
};

}  // namespace roll
