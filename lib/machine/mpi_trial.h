// Tests mpirun for `roll doctor`: starts this program as two ranks, which all-reduce a number.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace roll {

struct MpiTrial {
  std::optional<std::string> problem;  // why it does not work, in one line; nullopt if it works
  double seconds = 0;                  // from the start of mpirun to its end
};

/// Starts this program as two ranks with the command-line `arguments`, which must make it call run_trial_rank().
/// Returns failures of mpirun or a rank as `problem`, without throwing.
MpiTrial try_two_ranks(const std::vector<std::string>& arguments);

/// The work of each of the two ranks: joins the other, sums a number, and prints the sum on rank 0 for try_two_ranks().
/// **Collective**. Throws UserError or SystemError if the ranks cannot be joined.
void run_trial_rank();

}  // namespace roll
