// Connects this process to the other ranks of its job. Called by app/job.cpp when a rank starts.
#pragma once

#include <memory>

#include "base/names.h"
#include "dist/communicator.h"

namespace roll {

/// Transport between ranks, the values of --communicator. kSingle: one rank, no transport. kAuto chooses kNccl if there
/// are several ranks and each has a different GPU. Otherwise it chooses kSingle, kMpi or kTcp, depending on how this
/// process was started (world.h).
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
  at::Device device = at::kCPU;  // this rank's device; a CUDA device allows NCCL
  double timeout_s = 600;        // longest wait in one collective, and for the other ranks to join
};

/// Joins the other ranks, which it finds by the launcher's environment variables (world.h), and returns the
/// communicator of all ranks. **Collective**. Throws UserError if `kind` does not fit how the process was started.
/// Throws SystemError if a rank does not come in time, or NCCL is needed but this build lacks it.
std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options);

}  // namespace roll
