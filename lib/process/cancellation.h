// A cancellation token: threads that wait for something outside of this program (a server, a pause) give up at once
// when it is cancelled.
#pragma once

#include "base/descriptor.h"

namespace roll {

class Cancellation {
 public:
  /// SystemError: no file descriptor is left.
  Cancellation();

  /// Any thread, any number of times.
  void cancel();
  /// Back to not cancelled.
  void reset();
  bool is_cancelled() const;
  /// Waits; false when it was cancelled before the time was over.
  bool sleep(double seconds) const;
  /// Readable while it is cancelled: for poll(2) beside other descriptors.
  int descriptor() const { return event_.get(); }

 private:
  Descriptor event_;
};

}  // namespace roll
