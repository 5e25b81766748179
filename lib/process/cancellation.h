// A wish that threads which wait for something outside of this program (a server, a pause) give up at once.
#pragma once

#include "base/descriptor.h"

namespace roll {

class Cancellation {
 public:
  /// SystemError: no file descriptor is left.
  Cancellation();

  /// Any thread, any number of times.
  void cancel();
  /// As if nobody had wished.
  void reset();
  bool is_cancelled() const;
  /// Waits; false: not so long, since it was cancelled.
  bool sleep(double seconds) const;
  /// Readable while it is cancelled: for poll(2) beside other descriptors.
  int descriptor() const { return event_.get(); }

 private:
  Descriptor event_;
};

}  // namespace roll
