// Waits for other ranks: spins, yields or sleeps, and throws an error at the time limit.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dist/communicator.h"
#include "transport/head.h"

namespace roll {

/// A collective, and the rank's group that runs it ("": all ranks).
struct CallName {
  std::string collective;
  std::string group = {};
};

/// Spins first (a 4 MB reduce takes about a millisecond), then yields, then sleeps, so that working ranks get the
/// cores. Sleeps earlier if other threads want its core. A patient wait always sleeps.
class Wait {
 public:
  Wait(const Whereabouts& place, CallName call, double timeout_s, bool is_patient = false);
  /// Pauses; called between polls. `late` returns the ranks not heard from. SystemError: the limit has passed; names
  /// them. If `late` is empty, the limit starts anew. A stop request has no effect here, since the missing ranks may be
  /// finishing or saving a step.
  void pause(const std::function<std::vector<int>()>& late);
  /// Returns true if it sleeps between polls.
  bool is_long() const;
  /// Returns "rank 0 of 4, step 12: all-reduce 'gradients' of its tp group".
  std::string where() const;
  /// Bug: this rank and `other` (a rank in the world) are in different collectives.
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
