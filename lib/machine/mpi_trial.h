// Tests mpirun: starts this program twice, and the two ranks all-reduce a number.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace roll {

struct MpiTrial {
  std::optional<std::string> problem;  // in one line; unset: it works
  double seconds = 0;                  // from start to end
};

/// Starts this program twice with `arguments`, which must lead to run_trial_rank(). Never throws because of mpirun.
MpiTrial try_two_ranks(const std::vector<std::string>& arguments);

/// Runs one of the two ranks. **Collective**. Throws the errors of make_communicator() (job/join.h).
void run_trial_rank();

}  // namespace roll
