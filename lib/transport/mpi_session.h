// MPI in this process: start and end, one call at a time, channels, and buffers that outlive a broken collective.
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
  /// Returns this process's session, and starts MPI if there is none. **Collective** if it starts. SystemError: MPI has
  /// run before, or lacks thread support.
  static std::shared_ptr<MpiSession> hold();
  /// Calls MPI_Finalize only if no error occurred: after one, other ranks will not reach it.
  ~MpiSession();

  /// SystemError: an earlier collective failed, so that its messages may still be in transit.
  void check_whole(const Wait& wait) const;
  /// Makes every wait of this process end with SystemError.
  void give_up() { broken_ = true; }

  /// Runs an MPI call; at most one thread is in MPI (MPI_THREAD_SERIALIZED). SystemError: the call fails.
  template <class F>
  void call(const char* name, const Wait& wait, F&& mpi) {
    const std::scoped_lock lock(mutex);
    check_mpi(mpi(), name, wait.where());
  }
  /// Counts one more collective of the group with this channel.
  void arrive(int channel);
  /// Waits until all requests are done. `late` returns the processes not heard from.
  void finish(std::vector<MPI_Request>& requests, Wait& wait, const std::function<std::vector<int>()>& late);
  /// Returns the members (ranks in the world) that have reached fewer collectives than this process. Asks them, and
  /// waits a few seconds for answers.
  std::vector<int> call_roll(const std::vector<int>& members, int channel);
  /// Keeps buffers of an unfinished collective until the process ends: MPI cannot cancel it and may still use them.
  void keep(std::shared_ptr<const void> buffers);

  std::mutex mutex;
  int next_channel = 8;  // a channel is a tag; other files use the smaller ones

 private:
  MpiSession();
  bool all_done(std::vector<MPI_Request>& requests, const Wait& wait);

  RollCall roll_call_;
  int num_exceptions_;
  std::atomic<bool> broken_ = false;
};

}  // namespace roll
