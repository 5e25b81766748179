// How a process joins the others of its job.
#pragma once

#include <memory>

#include "base/names.h"
#include "dist/communicator.h"

namespace roll {

/// kAuto: by how this process was started, and NCCL where every rank has a GPU.
enum class Transport { kAuto, kSingle, kMpi, kTcp, kNccl };
constexpr auto names_of(Transport) {
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

/// Joins the other processes (see world.h for how they are found). **Collective**. UserError: a kind
/// that does not fit how the process was started; SystemError: a rank does not come, or no CUDA/NCCL in this build.
std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options);

}  // namespace roll
