// Numbers of a device that wait in the host's page-locked memory, without which copies run at a fraction of the bus.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <optional>
#include <vector>

namespace roll {

/// Bytes of the blocks that `bytes` are kept in. LibTorch rounds each page-locked block up to a power of two, so it is
/// one, and what the last block leaves unused is at most 1/32 of all.
int64_t host_block_bytes(int64_t bytes);

class HostCopy {
 public:
  /// `device` may be the CPU: copies are then plain ones.
  explicit HostCopy(at::Device device) : device_(device) {}

  /// Copies contiguous tensors of the device to the host. Nobody waits: the copies are in the device's current stream,
  /// whatever it then does with the tensors' memory comes after them, and nothing but load() reads the copies.
  void save(const std::vector<at::Tensor>& tensors);

  /// Copies back what save() was given, into contiguous tensors of as many bytes, in the device's current stream.
  void load(const std::vector<at::Tensor>& tensors) const;

  /// load() beside what the current stream does next. Before that reads or frees the tensors, it must be made to wait:
  /// result->block(stream). Empty where the copies are done.
  std::optional<c10::Event> load_beside(const std::vector<at::Tensor>& tensors) const;

 private:
  at::Device device_;
  std::vector<at::Tensor> blocks_;  // bytes
};

}  // namespace roll
