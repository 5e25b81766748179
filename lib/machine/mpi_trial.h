// A test of mpirun: it starts this program twice, and the two ranks sum their numbers by an all-reduce.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace roll {

struct MpiTrial {
  std::optional<std::string> problem;  // in one line
  double seconds = 0;                  // from start to end
};

/// Starts this program twice with `arguments`, which lead to be_trial_rank(). Never throws for what mpirun does.
MpiTrial try_two_ranks(const std::vector<std::string>& arguments);

/// What each of the two ranks runs. **Collective**. Throws as make_communicator() (job/join.h).
void be_trial_rank();

}  // namespace roll
