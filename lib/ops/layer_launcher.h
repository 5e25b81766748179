// Launches the fused training kernels of fused_layer.h: on a GPU, or, in tests, on lanes simulated by the CPU.
#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "cuda/launch_layer_kernel.h"

namespace roll {

class LayerLauncher : public std::enable_shared_from_this<LayerLauncher> {
 public:
  virtual ~LayerLauncher() = default;
  virtual void launch(const LayerKernelOf<float>& kernel) const = 0;
  virtual void launch(const LayerKernelOf<Bf16>& kernel) const = 0;
};

/// Returns a launcher on the GPU's current stream. Null for other devices, which use layer_ops.h.
std::shared_ptr<const LayerLauncher> make_layer_launcher(c10::Device device);

}  // namespace roll
