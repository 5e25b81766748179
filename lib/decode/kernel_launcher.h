// Runs the kernels and GEMMs of the device decoder (device_decoder.h): on a GPU (make_cuda_launcher()), or, in tests,
// with simulated GPU threads on the CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "cuda/launch_kernel.h"

namespace roll {

/// Launches kernels (AnyKernelOf<T> in cuda/launch_kernel.h: any kernel with its arguments) and GEMMs. Not thread-safe.
class KernelLauncher {
 public:
  virtual ~KernelLauncher() = default;
  /// Returns the number of multiprocessors of the device; the decoder divides its work into about two blocks for each.
  virtual int64_t num_processors() const = 0;
  /// Returns an uninitialized tensor for kernels, like at::empty().
  virtual at::Tensor empty(at::IntArrayRef sizes, const at::TensorOptions& options);
  /// Start a kernel, which runs after those launched before. On a GPU, they return without waiting for it.
  virtual void launch(const AnyKernelOf<float>& kernel) = 0;
  virtual void launch(const AnyKernelOf<Bf16>& kernel) = 0;
  virtual void launch(const AnyKernelOf<Fp16>& kernel) = 0;
  /// Computes y = x weight^T into the memory of y: x [N, I], weight [O, I], y [N, O]. Accumulates in float32. y has the
  /// dtype of x and weight, or float32.
  virtual void multiply(at::Tensor y, const at::Tensor& x, const at::Tensor& weight);
};

/// Returns the number of multiprocessors of a GPU. Throws SystemError in a program built without CUDA.
int64_t count_processors(at::Device device);

/// Returns a launcher for a GPU, which launches on the device's current stream at each call. Throws SystemError in a
/// program built without CUDA.
std::unique_ptr<KernelLauncher> make_cuda_launcher(at::Device device);

}  // namespace roll
