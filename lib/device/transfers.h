// Numbers on their way between the host and a device. To the device nobody waits: a GPU's copies go through page-locked
// memory, beside what it computes. Back is one copy, for which the host waits.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace roll {

/// x, which is on the host, on `device`.
at::Tensor sent(const at::Tensor& x, at::Device device);

/// Puts all of them, which are on the host, on `device`, in one copy.
void send_together(const std::vector<at::Tensor*>& tensors, at::Device device);

/// The numbers of each tensor on the host, [n] float64. Waits until the device has come this far.
std::vector<at::Tensor> fetched(const std::vector<at::Tensor>& tensors);

}  // namespace roll
