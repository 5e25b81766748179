// Lets a collective wait for other ranks: spins, yields or sleeps between polls, and throws an error at the time limit.
// Used by all wires (wire.h).
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

/// The wait of one collective; it begins with the constructor. It spins for 0.2 ms, then yields until 20 ms, then
/// sleeps, so that working ranks get the cores. It sleeps already after 1 ms if other threads want the core.
class Wait {
 public:
  /// `place`: this rank, for errors. `timeout_s`: time limit. `is_patient`: always sleeps, for collectives that nobody
  /// waits for.
  Wait(const Whereabouts& place, CallName call, double timeout_s, bool is_patient = false);
  /// Pauses; call it between polls. After the time limit, calls late(), which returns the missing ranks (numbers in the
  /// job), and throws SystemError, which names them. If none is missing, this process was suspended, and the limit
  /// starts anew. A stop request does not end the wait, since the missing ranks may be finishing or saving a step.
  void pause(const std::function<std::vector<int>()>& late);
  /// Returns true if the wait is patient, or longer than 20 ms.
  bool is_long() const;
  /// Returns "rank 0 of 4, step 12: all-reduce 'gradients' of its tp group".
  std::string where() const;
  /// Throws Bug for diverged ranks: this rank is in the call `local`, rank `other` of the job is in the call
  /// `other_head`.
  [[noreturn]] void diverged(const Head& local, int other, const Head& other_head) const;

 private:
  double waited_s() const;
  bool shares_core(double waited_s) const;
  std::string group_text() const;

  Whereabouts place_;
  CallName call_;
  double timeout_s_;
  double limit_s_;  // time limit, from the start
  bool is_patient_;
  double start_s_, start_cpu_s_;
};

}  // namespace roll
