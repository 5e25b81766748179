// Sequences over which rewards and advantages are normalised: those of one domain of a step, or of the whole step. Each
// rank has the tokens of its sequences, and the facts of all sequences. Used by build.h and the estimators of
// advantages.h.
#pragma once

#include <cstdint>
#include <vector>

#include "dist/communicator.h"
#include "experience/experience.h"

namespace roll {

struct Part {
  Experience experience;              // the part's sequences on this rank
  StepFacts facts;                    // facts of the part's sequences on all ranks
  std::vector<int64_t> global_index;  // [sequences of this rank] index in `facts`
  Communicator& ranks;                // ranks over which the part's sequences are distributed, each on one

  /// Makes a part whose sequences are all on this rank; collectives over its `ranks` do nothing.
  explicit Part(Experience whole);
  Part(Experience local, StepFacts all_facts, std::vector<int64_t> global_indices, Communicator& sharing_ranks)
      : experience(std::move(local)),
        facts(std::move(all_facts)),
        global_index(std::move(global_indices)),
        ranks(sharing_ranks) {}

  /// Returns one number per sequence of `facts`. local_values: the numbers of this rank's sequences. **Collective**
  /// over `ranks`.
  std::vector<double> all_gather(const std::vector<double>& local_values) const;
  /// Returns the elements that belong to this rank's sequences. all_values: one per sequence of `facts`.
  template <class T>
  std::vector<T> select_local(const std::vector<T>& all_values) const {
    return picked(all_values, global_index);
  }
};

}  // namespace roll
