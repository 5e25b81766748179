// Ranks that are threads of this process, for what is to be known of many ranks without starting a job. They take
// turns: a rank works until it waits for others, so that what is not made for threads (a plug-in's loss) is called by
// one at a time. What is started runs at once, so all ranks must start it in one order with their other collectives.
#pragma once

#include <functional>

#include "dist/communicator.h"

namespace roll {

/// Runs `body` as each of `num_ranks` ranks; one alone is `single`. Rethrows what the first rank that failed threw; the
/// others end where they wait. Bug: ranks in different collectives, or all waiting for others.
void run_thread_ranks(int num_ranks, const std::function<void(Communicator& ranks)>& body);

}  // namespace roll
