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

/// Launches on a GPU's current stream. Null on the CPU, where layers are its own; elsewhere what follows.
std::shared_ptr<const LayerLauncher> make_layer_launcher(c10::Device device);

/// Of a device that is neither (tests have one); null: layers are LibTorch's operators.
inline std::shared_ptr<const LayerLauncher> other_layer_launcher;

}  // namespace roll
