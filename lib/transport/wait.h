// One wait for other ranks: how it is spent, when it ends, and what is said then.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dist/communicator.h"
#include "transport/head.h"

namespace roll {

/// Which collective, in which of this rank's groups ("": of all ranks).
struct CallName {
  std::string collective;
  std::string group = {};
};

/// Spins first (a 4 MB reduce takes about a millisecond), then yields, then sleeps, so that a long wait leaves the
/// cores to the ranks that still work; where others want its core, soon. A patient one only sleeps.
class Wait {
 public:
  Wait(const Whereabouts& place, CallName call, double timeout_s, bool is_patient = false);
  /// To be called between looks. `late`: the ranks not heard from. SystemError after the time limit, naming them; where
  /// there are none the limit begins anew. A wish to stop changes nothing: those that are missing may be finishing a
  /// step, or saving it.
  void pause(const std::function<std::vector<int>()>& late);
  /// Whether it sleeps between looks.
  bool is_long() const;
  /// "rank 0 of 4, step 12: all-reduce 'gradients' of its tp group"
  std::string where() const;
  /// Bug: this rank and `other`, by its number in the world, are in different collectives.
  [[noreturn]] void diverged(const Head& mine, int other, const Head& theirs) const;

 private:
  double waited_s() const;
  bool shares_core(double waited_s) const;
  std::string of_group() const;

  Whereabouts place_;
  CallName call_;
  double timeout_s_;
  double limit_s_;
  bool is_patient_;
  double start_s_, start_cpu_s_;
};

}  // namespace roll
