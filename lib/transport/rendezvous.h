// The rendezvous of processes that were started one by one: all connect to rank 0, which sends them the addresses at
// which the others listen.
//
// Rank 0 listens at MASTER_ADDR:MASTER_PORT, on that address alone, until all have come. Where torchrun's agent holds
// that port, it listens at a free one, which it publishes in the agent's store. The secret that both sides must prove
// to know (door.h) is
//   - ROLL_JOB_SECRET, where it is set: the same text for all ranks, needed where strangers reach the port from other
//     hosts
//   - otherwise, on one host, what rank 0 writes to a file that only its user can read
//   - otherwise what it publishes in the agent's store; without an agent there is no secret
#pragma once

#include <vector>

#include "transport/door.h"
#include "transport/wire.h"

namespace roll {

struct Rendezvous {
  JobSecret secret{};                 // of this job's later doors, fresh for each job
  std::vector<Endpoint> endpoints{};  // by rank; rank 0's is not known, nobody needs it
  std::vector<Socket> peers{};        // by rank: rank 0's with all, the others' with rank 0
  Socket listener{};                  // at our endpoint; none on rank 0
};

/// **Collective**. SystemError names who did not come within the wait's limit.
Rendezvous rendezvous(int rank, int size, const TcpStart& start, Wait& wait);

}  // namespace roll
