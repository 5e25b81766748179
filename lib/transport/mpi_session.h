// Holds this process's use of MPI, which all wires over MPI share: starts and ends MPI, lets one thread at a time call
// it, numbers channels (MPI tags of groups), and keeps the buffers of broken collectives.
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
  /// Returns this process's session, which lives as long as a result of this function; starts MPI if no session exists.
  /// **Collective** over all processes if it starts MPI. Throws SystemError if MPI was started before, or does not
  /// support threads.
  static std::shared_ptr<MpiSession> hold();
  /// Calls MPI_Finalize, except after give_up() or during an exception: other ranks would not reach it.
  ~MpiSession();

  /// Throws SystemError if an earlier collective of this process failed, so that messages may still be in transit.
  void check_whole(const Wait& wait) const;
  /// Makes check_whole() and every finish() of this process throw SystemError from now on. Any thread may call it.
  void give_up() { broken_ = true; }

  /// Calls mpi(), which calls the MPI function `name` and returns MPI's code, while no other thread is in MPI
  /// (MPI_THREAD_SERIALIZED). The caller must not hold `mutex`. Throws SystemError if the code is an error.
  template <class F>
  void call(const char* name, const Wait& wait, F&& mpi) {
    const std::scoped_lock lock(mutex);
    check_mpi(mpi(), name, wait.where());
  }
  /// Counts that this process has reached one more collective of the group with this channel.
  void arrive(int channel);
  /// Waits until all requests are done. late: argument of Wait::pause(). Throws SystemError at the time limit and after
  /// give_up(); requests may then be unfinished.
  void finish(std::vector<MPI_Request>& requests, Wait& wait, const std::function<std::vector<int>()>& late);
  /// Asks `members` (ranks in MPI_COMM_WORLD) of the group with this channel how many of its collectives they have
  /// reached (roll_call.h), and waits up to 3 s for answers. Returns those that have reached fewer than this process,
  /// or did not answer.
  std::vector<int> call_roll(const std::vector<int>& members, int channel);
  /// Keeps buffers of an unfinished collective until the process ends: MPI cannot cancel it and may still use them.
  void keep(std::shared_ptr<const void> buffers);

  std::mutex mutex;      // held while a thread is in MPI
  int next_channel = 8;  // smallest channel that this process has not used; tags below 8 have fixed uses

 private:
  MpiSession();
  bool all_done(std::vector<MPI_Request>& requests, const Wait& wait);

  RollCall roll_call_;
  int num_exceptions_;  // std::uncaught_exceptions() at construction
  std::atomic<bool> broken_ = false;
};

}  // namespace roll
