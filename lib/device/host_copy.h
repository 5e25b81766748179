// Copies device tensors to pinned host memory and back, so that their GPU memory can be freed for a while (offloading).
// With pageable host memory, copies would reach only a fraction of the bus speed.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <optional>
#include <vector>

namespace roll {

/// Returns the bytes of each block of pinned memory in which HostCopy keeps `bytes` bytes. It is a power of two, since
/// LibTorch rounds blocks up to one. It is at most 1/32 of `bytes` (but at least 4096), so that the last block wastes
/// little.
int64_t host_block_bytes(int64_t bytes);

/// Holds the bytes of a list of device tensors in host memory. The memory lives as long as this object; a later save()
/// of the same total size uses it again.
class HostCopy {
 public:
  /// `device` is the device of all tensors. On the CPU, copies are synchronous.
  explicit HostCopy(at::Device device) : device_(device) {}

  /// Copies contiguous tensors to the host, asynchronously in the device's current stream. Work that is launched in
  /// that stream afterwards may overwrite or free the tensors. Replaces the bytes of an earlier save(). Throws Bug if a
  /// tensor is not contiguous.
  void save(const std::vector<at::Tensor>& tensors);

  /// Copies the saved bytes back, asynchronously in the device's current stream, into contiguous tensors: in order, as
  /// if they were one array of bytes. Throws Bug if their total size differs from the saved one.
  void load(const std::vector<at::Tensor>& tensors) const;

  /// Like load(), but in another stream: the copies begin after all work launched so far in the current stream, and run
  /// in parallel to its later work. Returns the event at the end of the copies; before a stream uses or frees the
  /// tensors, call result->block(stream). Returns nullopt on the CPU, where the copies are already done.
  std::optional<c10::Event> load_on_other_stream(const std::vector<at::Tensor>& tensors) const;

 private:
  at::Device device_;
  std::vector<at::Tensor> blocks_;  // uint8
};

}  // namespace roll
