// MPI in this process, shared by all wires over MPI: starts and ends MPI, lets one thread at a time call it, gives out
// channels (MPI tags), and keeps the buffers of broken collectives.
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
  /// Returns this process's session; starts MPI if no session exists. **Collective** over all processes if it starts
  /// MPI. Throws SystemError if MPI was started before, or does not support threads.
  static std::shared_ptr<MpiSession> hold();
  /// Calls MPI_Finalize, but not after an error: other ranks would not reach it.
  ~MpiSession();

  /// Throws SystemError if an earlier collective of this process failed, so that messages may still be in transit.
  void check_whole(const Wait& wait) const;
  /// Makes check_whole() and every finish() of this process throw SystemError from now on.
  void give_up() { broken_ = true; }

  /// Calls mpi(), which calls the MPI function `name` and returns MPI's code, while no other thread is in MPI
  /// (MPI_THREAD_SERIALIZED). Throws SystemError if the code is an error.
  template <class F>
  void call(const char* name, const Wait& wait, F&& mpi) {
    const std::scoped_lock lock(mutex);
    check_mpi(mpi(), name, wait.where());
  }
  /// Counts that this process has reached one more collective of the group with this channel.
  void arrive(int channel);
  /// Waits until all requests are done. `late` is as in Wait::pause(). Throws SystemError at the time limit and after
  /// give_up().
  void finish(std::vector<MPI_Request>& requests, Wait& wait, const std::function<std::vector<int>()>& late);
  /// Returns those `members` (ranks in MPI_COMM_WORLD) of the group with this channel that have reached fewer of the
  /// group's collectives than this process: asks them, and waits up to 3 s for answers.
  std::vector<int> call_roll(const std::vector<int>& members, int channel);
  /// Keeps buffers of an unfinished collective until the process ends: MPI cannot cancel it and may still use them.
  void keep(std::shared_ptr<const void> buffers);

  std::mutex mutex;      // held while a thread is in MPI
  int next_channel = 8;  // smallest channel (MPI tag) that this process has not used; smaller tags have fixed uses

 private:
  MpiSession();
  bool all_done(std::vector<MPI_Request>& requests, const Wait& wait);

  RollCall roll_call_;
  int num_exceptions_;
  std::atomic<bool> broken_ = false;
};

}  // namespace roll
