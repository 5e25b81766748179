// The ranks of a [mpi] test: MPI begins once per process, so all such tests share one communicator.
#pragma once

#include <memory>

#include "dist/communicator.h"
#include "job/join.h"

namespace roll::test {

inline Communicator& mpi_ranks() {
  static const std::unique_ptr<Communicator> ranks =
      make_communicator({.kind = Transport::kMpi, .device = at::kCPU, .timeout_s = 60});
  return *ranks;
}

}  // namespace roll::test
