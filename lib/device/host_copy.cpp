#include "device/host_copy.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace roll {

namespace {

/// Calls f(bytes of a block, bytes of a tensor) for each range that lies in one block and one tensor.
template <class F>
void for_each_run(const std::vector<at::Tensor>& blocks, const std::vector<at::Tensor>& tensors, const F& f) {
  const at::NoGradGuard no_grad;
  size_t block = 0;
  int64_t begin = 0;  // offset in the block
  for (const at::Tensor& tensor : tensors) {
    ROLL_CHECK(tensor.is_contiguous(), "bytes are copied as they lie");
    const at::Tensor bytes = tensor.detach().view({-1}).view(at::kByte);
    for (int64_t done = 0; done < bytes.numel();) {
      const int64_t count = std::min(blocks[block].numel() - begin, bytes.numel() - done);
      f(blocks[block].narrow(0, begin, count), bytes.narrow(0, done, count));
      done += count;
      begin += count;
      if (begin < blocks[block].numel()) continue;
      begin = 0;
      ++block;
    }
  }
}

int64_t bytes_of(const std::vector<at::Tensor>& tensors) {
  int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

}  // namespace

int64_t host_block_bytes(int64_t bytes) {
  constexpr int64_t kLeast = 4096;
  return std::max(kLeast, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes) / 32)));
}

void HostCopy::save(const std::vector<at::Tensor>& tensors) {
  const int64_t all = bytes_of(tensors), size = host_block_bytes(all);
  if (bytes_of(blocks_) != all) {
    blocks_.clear();
    const auto options = at::TensorOptions(at::kByte).pinned_memory(!device_.is_cpu());
    for (int64_t begin = 0; begin < all; begin += size)
      blocks_.push_back(at::empty({std::min(size, all - begin)}, options));
  }
  for_each_run(blocks_, tensors,
               [](const at::Tensor& block, const at::Tensor& bytes) { block.copy_(bytes, /*non_blocking=*/true); });
}

void HostCopy::load(const std::vector<at::Tensor>& tensors) const {
  ROLL_CHECK_EQ(bytes_of(tensors), bytes_of(blocks_), "what was saved comes back");
  for_each_run(blocks_, tensors,
               [](const at::Tensor& block, const at::Tensor& bytes) { bytes.copy_(block, /*non_blocking=*/true); });
}

std::optional<c10::Event> HostCopy::load_beside(const std::vector<at::Tensor>& tensors) const {
  if (device_.is_cpu()) return load(tensors), std::nullopt;
  const c10::impl::VirtualGuardImpl streams(device_.type());
  const c10::Stream beside = streams.getStreamFromGlobalPool(device_);
  c10::Event given(device_.type()), arrived(device_.type());
  given.record(streams.getStream(device_));  // earlier work may still use the tensors' memory
  given.block(beside);
  const c10::StreamGuard guard(beside);
  load(tensors);
  arrived.record(beside);
  return arrived;
}

}  // namespace roll
