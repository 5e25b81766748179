// Connects processes that were started one by one: all connect to rank 0, which sends them the others' addresses.
//
// Rank 0 listens at MASTER_ADDR:MASTER_PORT, on that address alone, until all have connected. If torchrun's agent holds
// that port, rank 0 takes a free one and publishes it in the agent's store. Both sides must know this secret (door.h):
//   - ROLL_JOB_SECRET, if it is set: the same text for all ranks, needed if strangers reach the port from other
//     hosts
//   - otherwise, on one host, a random one in a file that only its user can read
//   - otherwise one in the agent's store; without an agent there is no secret
#pragma once

#include <vector>

#include "transport/door.h"
#include "transport/wire.h"

namespace roll {

struct Rendezvous {
  JobSecret secret{};                 // for later doors of this job, fresh for each job
  std::vector<Endpoint> endpoints{};  // by rank; rank 0's is unknown and not needed
  std::vector<Socket> peers{};        // by rank; rank 0 has all, the others only rank 0
  Socket listener{};                  // at our endpoint; unset on rank 0
};

/// Connects all ranks. **Collective**. SystemError names the ranks that did not come within the wait's limit.
Rendezvous rendezvous(int rank, int size, const TcpStart& start, Wait& wait);

}  // namespace roll
