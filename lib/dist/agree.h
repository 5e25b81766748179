// Joint decisions of all ranks: whether any rank failed, and whether to stop.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>

#include "dist/communicator.h"
#include "process/stop.h"

namespace roll {

/// Ends a rank silently, because the failed rank has printed the message.
struct AnotherRankFailed : std::runtime_error {
  AnotherRankFailed(int failed_rank, int exit_code);
  int exit_code;
};

/// Returns 2 for UserError, 70 for Bug, the code in Stopped and AnotherRankFailed, else 1.
int exit_code_for(const std::exception& error);

/// Runs `check` on every rank and shares the outcome. **Collective**. If any rank threw, the lowest one rethrows its
/// own exception, and all others throw AnotherRankFailed with the same exit code. So one rank reports, and none waits.
void agree(Communicator& ranks, const std::function<void()>& check);

/// Returns the stop request if any rank got one (process/stop.h), and sets it on every rank. **Collective**; called
/// where all ranks may leave together.
std::optional<StopKind> stop_agreed(Communicator& ranks);

}  // namespace roll
