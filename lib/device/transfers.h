// Copies tensors between host and device. Copies to a GPU are asynchronous, through pinned memory; copies back are one
// synchronous transfer.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace roll {

/// Returns a copy of the host tensor x on `device`, made in the current stream; x itself if `device` is the CPU.
at::Tensor copy_to_device(const at::Tensor& x, at::Device device);

/// Replaces the host tensors that `tensors` points to by copies on `device`, sent in one transfer in the current
/// stream. The copies share one block of memory, which is freed with the last copy. Does nothing if `device` is the
/// CPU.
void move_to_device(const std::vector<at::Tensor*>& tensors, at::Device device);

/// Returns a flat copy of each tensor, [number of its elements] float64 on the host, and waits for the device.
/// `tensors` must not be empty, and all must be on one device.
std::vector<at::Tensor> fetch_values(const std::vector<at::Tensor>& tensors);

}  // namespace roll
