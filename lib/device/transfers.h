// Copies of tensors between host and device. Copies to a GPU are asynchronous, through pinned memory; copies back are
// one synchronous transfer.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace roll {

/// Returns a copy of the host tensor x on `device`.
at::Tensor sent(const at::Tensor& x, at::Device device);

/// Replaces host tensors by copies on `device`, in one transfer.
void send_together(const std::vector<at::Tensor*>& tensors, at::Device device);

/// Returns the elements of each tensor on the host, [n] float64. Waits for the device.
std::vector<at::Tensor> fetched(const std::vector<at::Tensor>& tensors);

}  // namespace roll
