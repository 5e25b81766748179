#include "machine/cuda_devices.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "device/cuda_library.h"

namespace roll {

namespace {

CudaDevice read_device(int index) {
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, index); error != cudaSuccess)
    return {.name = cudaGetErrorString(error)};
  CudaDevice device{.name = properties.name,
                    .capability = fmt::format("{}.{}", properties.major, properties.minor),
                    .total_bytes = static_cast<int64_t>(properties.totalGlobalMem)};
  size_t free = 0, total = 0;
  if (cudaSetDevice(index) == cudaSuccess && cudaMemGetInfo(&free, &total) == cudaSuccess)
    device.free_bytes = static_cast<int64_t>(free);
  return device;
}

}  // namespace

CudaDevices cuda_devices() {
  if (!cuda_library_is_loaded()) return {.driver = "none: this machine has no libcuda.so.1"};
  int version = 0, count = 0;
  cudaDriverGetVersion(&version);
  CudaDevices found{.driver = fmt::format("for CUDA {}.{}", version / 1000, version % 1000 / 10)};
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess)
    found.problem = cudaGetErrorString(error);
  for (int index = 0; index < count; ++index) found.devices.push_back(read_device(index));
  if (count > 0) cudaSetDevice(0);
  return found;
}

}  // namespace roll
