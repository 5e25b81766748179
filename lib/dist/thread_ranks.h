// Runs ranks as threads of this process, to analyse a job of many ranks without starting it (lib/forecast), and in
// tests. Asynchronous collectives (start_...) run to their end when called, so all ranks must call them and the other
// collectives in the same order.
#pragma once

#include <functional>

#include "dist/communicator.h"

namespace roll {

/// kInTurn: one rank works at a time, until it waits for others, so that code that is not thread-safe (a plug-in's
/// loss) may be called. kTogether: all ranks work at once.
enum class ThreadPace { kInTurn, kTogether };

/// Calls `body` on `num_ranks` threads, each with its rank's communicator of all ranks, and returns when all have
/// ended; a single rank gets a communicator of kind `single`. Rethrows the error of the rank that failed first; the
/// others end at their next collective. Throws Bug if ranks make different calls, or if all wait for others.
void run_thread_ranks(int num_ranks, const std::function<void(Communicator& ranks)>& body,
                      ThreadPace pace = ThreadPace::kInTurn);

}  // namespace roll
