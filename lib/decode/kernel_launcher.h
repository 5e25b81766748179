// Runs the kernels and GEMMs of a device decoder: on a GPU, or, in tests, on simulated lanes on the CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "cuda/launch_kernel.h"

namespace roll {

class KernelLauncher {
 public:
  virtual ~KernelLauncher() = default;
  /// Returns the number of multiprocessors; attention aims at two blocks for each.
  virtual int64_t num_processors() const = 0;
  /// Allocates uninitialized memory for kernels.
  virtual at::Tensor empty(at::IntArrayRef sizes, const at::TensorOptions& options);
  virtual void launch(const AnyKernelOf<float>& kernel) = 0;
  virtual void launch(const AnyKernelOf<Bf16>& kernel) = 0;
  virtual void launch(const AnyKernelOf<Fp16>& kernel) = 0;
  /// Computes y [N, O] = x [N, I] weight^T [I, O], accumulated in float32; y may be float32 if x and weight are
  /// narrower.
  virtual void multiply(at::Tensor y, const at::Tensor& x, const at::Tensor& weight);
};

/// Returns the number of multiprocessors of a GPU.
int64_t count_processors(at::Device device);

/// Returns a launcher for the device's current stream.
std::unique_ptr<KernelLauncher> make_cuda_launcher(at::Device device);

}  // namespace roll
