// Interface that launches the kernels of cuda/layer_kernels.h for fused_layer.h: on a GPU, or, in tests, simulated on
// the CPU.
#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "cuda/launch_layer_kernel.h"

namespace roll {

/// Must be owned by a shared_ptr. The memory to which a kernel points must live until the kernel has run.
class LayerLauncher : public std::enable_shared_from_this<LayerLauncher> {
 public:
  virtual ~LayerLauncher() = default;
  virtual void launch(const LayerKernelOf<float>& kernel) const = 0;
  virtual void launch(const LayerKernelOf<Bf16>& kernel) const = 0;
};

/// Returns a launcher on the current stream of a GPU; null for other devices, where layer_ops.h is used instead.
std::shared_ptr<const LayerLauncher> make_layer_launcher(c10::Device device);

}  // namespace roll
