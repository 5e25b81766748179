// Whether mpirun can start two ranks here that find each other: two of this program, which add their numbers.
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

/// **Collective**; one of the two. Throws as make_communicator() (job/join.h).
void be_trial_rank();

}  // namespace roll
