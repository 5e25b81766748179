// Where a device decoder's kernels and products go: to a GPU, or, in tests, to lanes that a CPU simulates.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "cuda/launch_kernel.h"

namespace roll {

class KernelLauncher {
 public:
  virtual ~KernelLauncher() = default;
  /// Of the device: kernels want two blocks for each.
  virtual int64_t num_processors() const = 0;
  /// Memory for kernels, with anything in it.
  virtual at::Tensor empty(at::IntArrayRef sizes, const at::TensorOptions& options);
  virtual void launch(const AnyKernelOf<float>& kernel) = 0;
  virtual void launch(const AnyKernelOf<Bf16>& kernel) = 0;
  virtual void launch(const AnyKernelOf<Fp16>& kernel) = 0;
  /// y [N, O] = x [N, I] weight^T [I, O], summed in float32; y may be float32 where the others are not.
  virtual void multiply(at::Tensor y, const at::Tensor& x, const at::Tensor& weight);
};

/// Of a GPU.
int64_t count_processors(at::Device device);

/// Launches on the device's current stream.
std::unique_ptr<KernelLauncher> make_cuda_launcher(at::Device device);

}  // namespace roll
