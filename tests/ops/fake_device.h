// A device that LibTorch takes for one (PrivateUse1) and that computes with the host's memory and operators. What a GPU
// would be asked for is counted: kernels, copies to it, and what makes the host wait for it. LibTorch knows one device
// beside the host: a process that has asked for this one has no GPU any more, so tests that are tagged [gpu] do not.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

namespace roll::test {

struct DeviceCounts {
  std::map<std::string, int64_t> launches, copies_in, copies_out, waits;  // by operator

  static int64_t sum(const std::map<std::string, int64_t>& counts);
};

at::Device fake_device();

/// What was asked for since the last call, by any thread.
DeviceCounts take_device_counts();

/// Bytes of the device's memory that are allocated, and the most that were since the last call, by any thread. What an
/// operator takes for itself while it runs is not known.
int64_t live_device_bytes();
int64_t take_peak_device_bytes();

/// Of the host's memory that is page-locked.
int64_t pinned_bytes();

/// One more launch, of a kernel that LibTorch does not know.
void count_launch(const std::string& name);

/// The same memory as a tensor of the host.
at::Tensor memory_of(const at::Tensor& x);

}  // namespace roll::test
