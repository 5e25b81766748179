// Lists the GPUs that this process can use, for `roll doctor`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace roll {

struct CudaDevice {
  std::string name;          // "NVIDIA H100 80GB HBM3"
  std::string capability{};  // "9.0"
  int64_t total_bytes = 0;
  std::optional<int64_t> free_bytes{};  // nullopt: the device cannot be opened
};

struct CudaDevices {
  std::string driver;                 // "for CUDA 13.0", or why there is none
  std::string problem{};              // CUDA's reason why no device is usable; "": they are
  std::vector<CudaDevice> devices{};  // by device number
};

CudaDevices cuda_devices();

}  // namespace roll
