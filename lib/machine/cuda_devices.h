// Lists the GPUs that this process can use, for `roll doctor`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace roll {

struct CudaDevice {
  std::string name;                     // "NVIDIA H100 80GB HBM3", or CUDA's error if the device cannot be examined
  std::string capability{};             // compute capability: "9.0"
  int64_t total_bytes = 0;              // size of the device's memory
  std::optional<int64_t> free_bytes{};  // nullopt if the device cannot be opened
};

struct CudaDevices {
  std::string driver;                 // the driver, "for CUDA 13.0", or why there is none
  std::string problem{};              // why no device is usable, in CUDA's words; "" if devices were found
  std::vector<CudaDevice> devices{};  // index: CUDA's device number
};

/// Examines the GPUs and selects device 0 afterwards. Never throws; without GPUs or in a build without CUDA, the result
/// has no devices.
CudaDevices cuda_devices();

}  // namespace roll
