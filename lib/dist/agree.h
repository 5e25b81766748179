// Lets all ranks agree on an error or a stop request, so that they end together and none waits for another.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>

#include "dist/communicator.h"
#include "process/stop.h"

namespace roll {

/// Ends this process because another rank failed. The program prints nothing for it, because that rank prints the
/// reason.
struct AnotherRankFailed : std::runtime_error {
  AnotherRankFailed(int failed_rank, int exit_code);
  int exit_code;  // exit code of the failed rank
};

/// Returns the exit code of a program that ends with this error: 2 for UserError, 70 for Bug, the code in Stopped and
/// AnotherRankFailed, else 1.
int exit_code_for(const std::exception& error);

/// Calls `check` on every rank, then shares the outcome. **Collective** over `ranks`. If `check` threw on any rank, the
/// lowest such rank rethrows its exception, and all others throw AnotherRankFailed, so that one rank reports. A rank
/// whose `check` threw AnotherRankFailed counts only if no `check` threw anything else.
void agree(Communicator& ranks, const std::function<void()>& check);

/// Returns the strongest stop request that any rank got (process/stop.h), and makes it the request of every rank;
/// nullopt if none got one. **Collective** over `ranks`; called where all ranks may stop together.
std::optional<StopKind> stop_agreed(Communicator& ranks);

}  // namespace roll
