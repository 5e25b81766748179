// How processes that were started one by one find each other: all call rank 0, which tells them where the others
// listen.
//
// Rank 0 listens at MASTER_ADDR:MASTER_PORT, on that address alone, until all have come; where torchrun's agent holds
// that port, at a free one, which the agent's store tells. What both sides must prove to know (door.h) is
//   - ROLL_JOB_SECRET, where it is set: the same text for all ranks, needed where strangers reach the port from other
//     hosts
//   - otherwise, on one host, what rank 0 writes to a file that only its user can read
//   - otherwise what the agent's store tells, or nothing but our way of speaking
#pragma once

#include <string>
#include <vector>

#include "transport/door.h"
#include "transport/wire.h"

namespace roll {

struct Met {
  JobSecret secret{};                 // of this job's later doors, fresh for each job
  std::vector<Endpoint> endpoints{};  // by rank; rank 0's is not known, nobody needs it
  std::vector<Socket> peers{};        // by rank: rank 0's with all, the others' with rank 0
  Socket listener{};                  // at our endpoint; none on rank 0
};

/// **Collective**. SystemError names who did not come within the wait's limit.
Met meet(int rank, int size, const TcpStart& start, Wait& wait);

}  // namespace roll
