// What all ranks decide together: whether one of them failed, and whether to stop.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>

#include "dist/communicator.h"
#include "process/stop.h"

namespace roll {

/// Ends a rank without a message of its own, because the rank that failed has printed one.
struct AnotherRankFailed : std::runtime_error {
  AnotherRankFailed(int failed_rank, int exit_code);
  int exit_code;
};

/// 2 UserError, 70 Bug, Stopped's and AnotherRankFailed's own, else 1.
int exit_code_of(const std::exception& error);

/// Runs `check` on every rank, then lets all know. **Collective**. Where ranks threw, the lowest of them rethrows its
/// own exception and all others throw AnotherRankFailed with the same exit code: one rank speaks, none waits.
void agree(Communicator& ranks, const std::function<void()>& check);

/// Whether any rank was asked to stop (process/stop.h); then every rank has the same wish. **Collective**; for places
/// where all may leave together.
std::optional<StopKind> stop_agreed(Communicator& ranks);

}  // namespace roll
