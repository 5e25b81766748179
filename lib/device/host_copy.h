// Offloads device tensors to pinned host memory and back; copies with pageable memory reach a fraction of the bus
// speed.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <optional>
#include <vector>

namespace roll {

/// Returns the size of the pinned blocks for `bytes` bytes: a power of two, since LibTorch rounds pinned blocks up to
/// one. The last block wastes at most 1/32 of the total.
int64_t host_block_bytes(int64_t bytes);

class HostCopy {
 public:
  /// device: device of the tensors; on the CPU, copies are synchronous.
  explicit HostCopy(at::Device device) : device_(device) {}

  /// Copies contiguous tensors to the host, asynchronously in the device's current stream. Later work of that stream
  /// may reuse the tensors' memory. Only load() and load_on_other_stream() may read the copies.
  void save(const std::vector<at::Tensor>& tensors);

  /// Copies the saved bytes back into contiguous tensors of the same total size, in the device's current stream.
  void load(const std::vector<at::Tensor>& tensors) const;

  /// Like load(), but in another stream, parallel to the current one. Before a stream reads or frees the tensors, call
  /// result->block(stream). Returns nullopt if the copies are already done (CPU).
  std::optional<c10::Event> load_on_other_stream(const std::vector<at::Tensor>& tensors) const;

 private:
  at::Device device_;
  std::vector<at::Tensor> blocks_;  // bytes
};

}  // namespace roll
