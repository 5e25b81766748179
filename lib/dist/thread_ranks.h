// Ranks that are threads of this process, for what is to be known of many ranks without starting a job. Collectives
// that are started beside other work (start_...) run when they are called, so all ranks must start them in one order
// with their other collectives.
#pragma once

#include <functional>

#include "dist/communicator.h"

namespace roll {

/// In turn, a rank works until it waits for others, so that what is not made for threads (a plug-in's loss) is called
/// by one at a time.
enum class ThreadPace { kInTurn, kTogether };

/// Runs `body` as each of `num_ranks` ranks; one alone is `single`. Rethrows what the first rank that failed threw; the
/// others end where they wait. Bug: ranks in different collectives, or all waiting for others.
void run_thread_ranks(int num_ranks, const std::function<void(Communicator& ranks)>& body,
                      ThreadPace pace = ThreadPace::kInTurn);

}  // namespace roll
