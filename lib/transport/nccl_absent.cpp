// Replaces nccl_communicator.cpp in builds without CUDA.
#include "base/error.h"
#include "transport/nccl_communicator.h"

namespace roll {

std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator>, at::Device device, double) {
  throw system_error(
      "device {}: this roll was built without CUDA/NCCL; use device cpu, or build roll on a machine with nvcc",
      device.str());
}

std::string nccl_version() {
  return "none";
}
std::string cuda_version() {
  return "none";
}

}  // namespace roll
