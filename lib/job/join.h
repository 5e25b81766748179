// Joins this process to the others of its job.
#pragma once

#include <memory>

#include "base/names.h"
#include "dist/communicator.h"

namespace roll {

/// Transport between ranks. kAuto: by how this process was started, and NCCL if every rank has a GPU.
enum class Transport { kAuto, kSingle, kMpi, kTcp, kNccl };
constexpr auto enum_names(Transport) {
  return std::to_array<Named<Transport>>({{Transport::kAuto, "auto"},
                                          {Transport::kSingle, "single"},
                                          {Transport::kMpi, "mpi"},
                                          {Transport::kTcp, "tcp"},
                                          {Transport::kNccl, "nccl"}});
}

struct CommunicatorOptions {
  Transport kind = Transport::kAuto;
  at::Device device = at::kCPU;  // CUDA: NCCL for its tensors
  double timeout_s = 600;        // longest wait in one collective
};

/// Joins the other processes (found as in world.h). **Collective**. UserError: the kind does not fit how the process
/// was started. SystemError: a rank does not come, or this build lacks CUDA/NCCL.
std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options);

}  // namespace roll
