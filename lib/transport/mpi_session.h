// MPI in this process: its begin and end, one call at a time, channels, and what must outlive a collective that broke.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "transport/mpi_calls.h"
#include "transport/roll_call.h"
#include "transport/wait.h"

namespace roll {

class MpiSession {
 public:
  /// The one of this process; begins MPI where nothing holds it yet. **Collective** then. SystemError.
  static std::shared_ptr<MpiSession> hold();
  /// Ends MPI only when all went well: during an error the other ranks will not meet us in MPI_Finalize.
  ~MpiSession();

  /// SystemError: something failed before, and messages of it may still be on their way.
  void check_whole(const Wait& wait) const;
  /// Makes every wait of this process end with SystemError.
  void give_up() { broken_ = true; }

  /// Runs an MPI call; at most one thread is in MPI (MPI_THREAD_SERIALIZED). SystemError.
  template <class F>
  void call(const char* name, const Wait& wait, F&& mpi) {
    const std::scoped_lock lock(mutex);
    check_mpi(mpi(), name, wait.where());
  }
  /// Notes that this process has come to one more collective of the group that has `channel`.
  void arrive(int channel);
  /// Until all requests are done. `late`: processes not heard from.
  void finish(std::vector<MPI_Request>& requests, Wait& wait, const std::function<std::vector<int>()>& late);
  /// The members of a group, by their numbers in the world, that have not come as far as this process: asks them, and
  /// waits a few seconds for those that do not answer.
  std::vector<int> call_roll(const std::vector<int>& members, int channel);
  /// MPI cannot cancel a collective: what it may still read and write stays until the process ends.
  void keep(std::shared_ptr<const void> buffers);

  std::mutex mutex;
  int next_channel = 8;  // a channel is a tag; smaller ones are other files'

 private:
  MpiSession();
  bool all_done(std::vector<MPI_Request>& requests, const Wait& wait);

  RollCall roll_call_;
  int num_exceptions_;
  std::atomic<bool> broken_ = false;
};

}  // namespace roll
