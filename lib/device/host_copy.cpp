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
    ROLL_CHECK(tensor.is_contiguous(), "only contiguous tensors can be copied byte by byte");
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

int64_t total_bytes(const std::vector<at::Tensor>& tensors) {
  int64_t bytes = 0;
  for (const at::Tensor& tensor : tensors) bytes += static_cast<int64_t>(tensor.nbytes());
  return bytes;
}

}  // namespace

int64_t host_block_bytes(int64_t bytes) {
  constexpr int64_t kMinBlock = 4096;
  return std::max(kMinBlock, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes) / 32)));
}

void HostCopy::save(const std::vector<at::Tensor>& tensors) {
  const int64_t num_bytes = total_bytes(tensors), block_size = host_block_bytes(num_bytes);
  if (total_bytes(blocks_) != num_bytes) {
    blocks_.clear();
    const auto options = at::TensorOptions(at::kByte).pinned_memory(!device_.is_cpu());
    for (int64_t begin = 0; begin < num_bytes; begin += block_size)
      blocks_.push_back(at::empty({std::min(block_size, num_bytes - begin)}, options));
  }
  for_each_run(blocks_, tensors,
               [](const at::Tensor& block, const at::Tensor& bytes) { block.copy_(bytes, /*non_blocking=*/true); });
}

void HostCopy::load(const std::vector<at::Tensor>& tensors) const {
  ROLL_CHECK_EQ(total_bytes(tensors), total_bytes(blocks_),
                "load() takes tensors of the total size that save() copied");
  for_each_run(blocks_, tensors,
               [](const at::Tensor& block, const at::Tensor& bytes) { bytes.copy_(block, /*non_blocking=*/true); });
}

std::optional<c10::Event> HostCopy::load_on_other_stream(const std::vector<at::Tensor>& tensors) const {
  if (device_.is_cpu()) return load(tensors), std::nullopt;
  const c10::impl::VirtualGuardImpl streams(device_.type());
  const c10::Stream copy_stream = streams.getStreamFromGlobalPool(device_);
  c10::Event earlier_work(device_.type()), copies_done(device_.type());
  earlier_work.record(streams.getStream(device_));  // earlier work may still use the tensors' memory
  earlier_work.block(copy_stream);
  const c10::StreamGuard guard(copy_stream);
  load(tensors);
  copies_done.record(copy_stream);
  return copies_done;
}

}  // namespace roll
