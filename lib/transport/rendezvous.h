// Connects processes that were started one by one, for tcp_wire.cpp. All connect to rank 0, which sends the addresses
// of all ranks to each.
//
// Rank 0 listens at MASTER_ADDR:MASTER_PORT until all have connected: on that address alone if its host has it, else
// (behind a NAT) on all addresses. If all ranks are on one host, the address is the loopback. If torchrun's agent holds
// that port, rank 0 takes a free one and publishes it in the agent's store. Both sides must know one secret (door.h):
//   - ROLL_JOB_SECRET, if it is set: the same text for all ranks, needed if strangers reach the port from other
//     hosts
//   - otherwise, on one host, a random text in a file that only the user can read
//   - otherwise a random text in the store of torchrun's agent; without an agent there is no secret
#pragma once

#include <vector>

#include "transport/door.h"
#include "transport/wire.h"

namespace roll {

/// This rank's connections after the rendezvous.
struct Rendezvous {
  JobSecret secret{};                 // fresh secret of this job, for all further connections
  std::vector<Endpoint> endpoints{};  // [size] address at which each rank listens; rank 0's is not set
  std::vector<Socket> peers{};        // [size] connections so far: on rank 0 to all others, elsewhere only to rank 0
  Socket listener{};                  // listens at this rank's endpoint; closed on rank 0
};

/// Connects all `size` ranks of the job. rank: this process's rank. start: where rank 0 listens, and the secret. Throws
/// SystemError, which names the missing ranks, at the time limit of `wait`. **Collective** over the job.
Rendezvous rendezvous(int rank, int size, const TcpStart& start, Wait& wait);

}  // namespace roll
