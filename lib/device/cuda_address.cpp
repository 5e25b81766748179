#include "device/cuda_address.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "base/error.h"

namespace roll {

CudaAddress cuda_address(int index) {
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, index); error != cudaSuccess)
    throw system_error("CUDA device {}: cannot be examined: {}", index, cudaGetErrorString(error));
  CudaAddress address{
      .bus = fmt::format("{:04x}:{:02x}:{:02x}", properties.pciDomainID, properties.pciBusID, properties.pciDeviceID)};
  for (const char byte : properties.uuid.bytes) address.uuid += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return address;
}

}  // namespace roll
