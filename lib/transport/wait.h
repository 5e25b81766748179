// Waits of a collective for other ranks: spins, yields or sleeps between polls, and throws an error at the time limit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dist/communicator.h"
#include "transport/head.h"

namespace roll {

/// Name of a collective, for errors.
struct CallName {
  std::string collective;  // "all-reduce 'gradients'"
  std::string group = {};  // communicator's name, "tp"; "": all ranks
};

/// One wait, which begins with the constructor. It spins first (a 4 MB reduce takes about a millisecond), then yields,
/// then sleeps, so that working ranks get the cores; sleeps earlier if other threads want the core.
class Wait {
 public:
  /// `place`: this rank, for errors. `is_patient`: always sleeps.
  Wait(const Whereabouts& place, CallName call, double timeout_s, bool is_patient = false);
  /// Pauses; call it between polls. After the time limit, calls late(), which returns the ranks (in the job) that are
  /// missing, and throws SystemError, which names them; if none is missing, the limit starts anew. A stop request does
  /// not end the wait, since the missing ranks may be finishing or saving a step.
  void pause(const std::function<std::vector<int>()>& late);
  /// Returns true if the wait is patient, or longer than 20 ms.
  bool is_long() const;
  /// Returns "rank 0 of 4, step 12: all-reduce 'gradients' of its tp group".
  std::string where() const;
  /// Throws Bug: this rank is in the call `local`, but rank `other` of the job in another call, `other_head`.
  [[noreturn]] void diverged(const Head& local, int other, const Head& other_head) const;

 private:
  double waited_s() const;
  bool shares_core(double waited_s) const;
  std::string group_text() const;

  Whereabouts place_;
  CallName call_;
  double timeout_s_;
  double limit_s_;
  bool is_patient_;
  double start_s_, start_cpu_s_;
};

}  // namespace roll
