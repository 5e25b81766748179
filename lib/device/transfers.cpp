#include "device/transfers.h"

#include <ATen/ATen.h>

namespace roll {

at::Tensor copy_to_device(const at::Tensor& x, at::Device device) {
  if (device.is_cpu() || device.is_meta()) return x.to(device);
  const at::Tensor pinned = at::empty(x.sizes(), x.options().pinned_memory(true)).copy_(x);
  return pinned.to(device, /*non_blocking=*/true);
}

void move_to_device(const std::vector<at::Tensor*>& tensors, at::Device device) {
  if (device.is_cpu()) return;
  constexpr int64_t kAlignment = 16;
  std::vector<int64_t> offsets = {0};
  for (const at::Tensor* tensor : tensors)
    offsets.push_back((offsets.back() + static_cast<int64_t>(tensor->nbytes()) + kAlignment - 1) / kAlignment *
                      kAlignment);
  const auto tensor_view = [&](const at::Tensor& bytes, size_t i) {
    const at::Tensor& tensor = *tensors[i];
    return bytes.narrow(0, offsets[i], static_cast<int64_t>(tensor.nbytes()))
        .view(tensor.scalar_type())
        .view(tensor.sizes());
  };
  const at::Tensor host_bytes = at::empty({offsets.back()}, at::TensorOptions(at::kByte).pinned_memory(true));
  for (size_t i = 0; i < tensors.size(); ++i) tensor_view(host_bytes, i).copy_(*tensors[i]);
  const at::Tensor device_bytes = host_bytes.to(device, /*non_blocking=*/true);
  for (size_t i = 0; i < tensors.size(); ++i) *tensors[i] = tensor_view(device_bytes, i);
}

std::vector<at::Tensor> fetch_values(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> flat;
  std::vector<int64_t> sizes;
  for (const at::Tensor& tensor : tensors) {
    flat.push_back(tensor.detach().reshape({-1}).to(at::kDouble));
    sizes.push_back(flat.back().numel());
  }
  return at::cat(flat).to(at::kCPU).split_with_sizes(sizes);
}

}  // namespace roll
