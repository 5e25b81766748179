// Runs ranks as threads of this process, to analyse a job of many ranks without starting it. Asynchronous collectives
// (start_...) run when called, so all ranks must start them in the same order as their other collectives.
#pragma once

#include <functional>

#include "dist/communicator.h"

namespace roll {

/// kInTurn: a rank works until it waits for others, so that code that is not thread-safe (a plug-in's loss) is called
/// by one at a time.
enum class ThreadPace { kInTurn, kTogether };

/// Runs `body` as each of `num_ranks` ranks; a single rank is `single`. Rethrows the error of the rank that failed
/// first; the others end at their next wait. Bug: ranks are in different collectives, or all wait for others.
void run_thread_ranks(int num_ranks, const std::function<void(Communicator& ranks)>& body,
                      ThreadPace pace = ThreadPace::kInTurn);

}  // namespace roll
