#include "ops/grouped_products.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>

#include "cuda/launch_layer_kernel.h"
#include "device/on_device.h"

namespace roll {

namespace {

constexpr int64_t kMostGroups = 1023;
constexpr int64_t kVector = 8;  // bfloat16 elements per 16 bytes, the alignment of rows

bool is_aligned(const at::Tensor& x) {
  return reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0;
}

/// Returns x contiguous and aligned to 16 bytes.
at::Tensor aligned_copy(const at::Tensor& x) {
  const at::Tensor whole = x.contiguous();
  return is_aligned(whole) ? whole : whole.clone();
}

/// True if the device runs grouped GEMMs as one kernel; elsewhere LibTorch loops on the host.
bool multiplies_groups(at::Device device) {
  if (!device.is_cuda()) {
    static const auto product = c10::Dispatcher::singleton().findSchemaOrThrow("aten::_grouped_mm", "");
    return device.type() == at::kPrivateUse1 && product.hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1);
  }
  int capability = 0;
  launch_on(device, [&](void*) { capability = cuda::compute_capability(); });
  return capability / 10 == 9 || capability / 10 == 10;
}

}  // namespace

bool has_grouped_products(const at::Tensor& x, int64_t groups, int64_t outputs) {
  return x.scalar_type() == at::kBFloat16 && !x.is_cpu() && !x.is_meta() && outputs % kVector == 0 &&
         x.size(1) % kVector == 0 && groups <= kMostGroups && multiplies_groups(x.device());
}

at::Tensor stacked_in_place(const std::vector<at::Tensor>& matrices, int64_t parts) {
  const at::Tensor& first = matrices.front();
  if (!first.defined() || !first.is_contiguous()) return {};
  const auto offset = [&](size_t i) { return matrices[i].storage_offset() - first.storage_offset(); };
  const bool has_next_group = std::ssize(matrices) > parts && matrices[parts].defined();
  const int64_t step = has_next_group ? offset(parts) : parts * first.numel();
  for (size_t i = 0; i < matrices.size(); ++i) {
    const at::Tensor& matrix = matrices[i];
    const auto group = static_cast<int64_t>(i) / parts, part = static_cast<int64_t>(i) % parts;
    const bool follows = matrix.defined() && matrix.is_contiguous() && matrix.is_alias_of(first) &&
                         matrix.scalar_type() == first.scalar_type() &&
                         offset(i) == group * step + part * first.numel();
    if (!follows) return {};
  }
  const int64_t rows = parts * first.size(0), width = first.size(1);
  if (step < rows * width || step % kVector != 0 || !is_aligned(first)) return {};
  return first.detach().as_strided({std::ssize(matrices) / parts, rows, width}, {step, width, 1});
}

at::Tensor stacked(const std::vector<at::Tensor>& matrices, int64_t parts) {
  if (at::Tensor in_place = stacked_in_place(matrices, parts); in_place.defined()) return in_place;
  return at::stack(matrices).detach().view({std::ssize(matrices) / parts, -1, matrices.front().size(1)});
}

at::Tensor grouped_product(const at::Tensor& x, const at::Tensor& weights, const at::Tensor& ends) {
  if (x.size(0) == 0) return at::empty({0, weights.size(1)}, x.options());
  return at::_grouped_mm(aligned_copy(x), weights.transpose(1, 2), ends);
}

at::Tensor grouped_input_gradient(const at::Tensor& d, const at::Tensor& weights, const at::Tensor& ends) {
  if (d.size(0) == 0) return at::empty({0, weights.size(2)}, d.options());
  return at::_grouped_mm(aligned_copy(d), weights, ends);
}

at::Tensor grouped_weight_gradient(const at::Tensor& d, const at::Tensor& x, const at::Tensor& ends) {
  if (d.size(0) == 0) return at::zeros({ends.size(0), d.size(1), x.size(1)}, d.options());
  // Some GPUs leave the result of a group without rows unwritten (PyTorch issue 172439).
  const at::Tensor empty = ends.eq(at::constant_pad_nd(ends.narrow(0, 0, ends.size(0) - 1), {1, 0}));
  return at::_grouped_mm(aligned_copy(d).t(), aligned_copy(x), ends).masked_fill_(empty.view({-1, 1, 1}), 0);
}

}  // namespace roll
