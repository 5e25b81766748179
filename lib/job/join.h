// How a process joins the others of its job.
#pragma once

#include <memory>
#include <string>

#include "dist/communicator.h"

namespace roll {

struct CommunicatorOptions {
  std::string kind = "auto";     // auto | single | mpi | tcp | nccl; auto: by how it was started and `device`
  at::Device device = at::kCPU;  // CUDA: NCCL for its tensors
  double timeout_s = 600;        // longest wait in one collective
};

/// Joins the other processes (see world.h for how they are found). **Collective**. UserError: an unknown kind, or one
/// that does not fit how the process was started; SystemError: a rank does not come, or no CUDA/NCCL in this build.
std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options);

}  // namespace roll
