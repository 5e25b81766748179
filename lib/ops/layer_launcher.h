// Where the kernels of a layer in training go: to a GPU, or, in tests, to lanes that a CPU simulates.
#pragma once

#include <c10/core/Device.h>

#include <memory>

#include "cuda/launch_layer_kernel.h"

namespace roll {

class LayerLauncher {
 public:
  virtual ~LayerLauncher() = default;
  virtual void launch(const LayerKernelOf<float>& kernel) const = 0;
  virtual void launch(const LayerKernelOf<Bf16>& kernel) const = 0;
};

/// Launches on the device's current stream. Null where layers are LibTorch's operators and the CPU's own: on other
/// devices.
std::shared_ptr<const LayerLauncher> make_layer_launcher(c10::Device device);

}  // namespace roll
