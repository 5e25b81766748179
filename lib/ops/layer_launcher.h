// LayerLauncher launches the kernels of cuda/layer_kernels.h for fused_layer.h. One implementation launches them on a
// GPU; the one of the tests simulates them on the CPU.
#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "cuda/launch_layer_kernel.h"

namespace roll {

/// Must be owned by a shared_ptr, because backward functions keep it by shared_from_this().
class LayerLauncher : public std::enable_shared_from_this<LayerLauncher> {
 public:
  virtual ~LayerLauncher() = default;
  /// Launches a kernel with its arguments, for float32 or bfloat16 activations, and does not wait. The memory to which
  /// the kernel points must live until it has run.
  virtual void launch(const LayerKernelOf<float>& kernel) const = 0;
  virtual void launch(const LayerKernelOf<Bf16>& kernel) const = 0;
};

/// Returns a launcher that uses the current stream of the GPU `device`; null for other devices, where layer_ops.h is
/// used instead.
std::shared_ptr<const LayerLauncher> make_layer_launcher(c10::Device device);

}  // namespace roll
