// The ranks of a [mpi] test: MPI begins once per process, so all such tests share these communicators.
#pragma once

#include <memory>

#include "dist/communicator.h"
#include "job/join.h"
#include "transport/host_communicator.h"
#include "transport/wire.h"

namespace roll::test {

struct MpiRanks {
  /// As a run has them.
  std::unique_ptr<Communicator> usual =
      make_communicator({.kind = Transport::kMpi, .device = at::kCPU, .timeout_s = 60});
  /// Over MPI's own collectives, or in pairs, however many there are.
  std::unique_ptr<Communicator> collective = make_host_communicator(make_mpi_wire(/*few=*/0), 60);
  std::unique_ptr<Communicator> in_pairs = make_host_communicator(make_mpi_wire(/*few=*/1 << 20), 60);
};

inline MpiRanks& all_mpi_ranks() {
  static MpiRanks ranks;
  return ranks;
}

inline Communicator& mpi_ranks() {
  return *all_mpi_ranks().usual;
}

}  // namespace roll::test
