// Joint decisions of all ranks: whether any rank failed, and whether to stop.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>

#include "dist/communicator.h"
#include "process/stop.h"

namespace roll {

/// Ends this process because another rank failed; nothing is printed for it, because that rank prints its message.
struct AnotherRankFailed : std::runtime_error {
  AnotherRankFailed(int failed_rank, int exit_code);
  int exit_code;  // exit code of the failed rank
};

/// Returns the exit code of a program that ends with this error: 2 for UserError, 70 for Bug, the code in Stopped and
/// AnotherRankFailed, else 1.
int exit_code_for(const std::exception& error);

/// Calls `check` on every rank, then shares the outcome. **Collective**. If `check` threw on any rank, the lowest such
/// rank rethrows its exception, and all others throw AnotherRankFailed. So one rank reports, and none waits for it.
void agree(Communicator& ranks, const std::function<void()>& check);

/// Returns the strongest stop request that any rank got (process/stop.h), and sets it on every rank; nullopt if none
/// got one. **Collective**; called where all ranks may stop together.
std::optional<StopKind> stop_agreed(Communicator& ranks);

}  // namespace roll
