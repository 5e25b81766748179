// Where the kernels of a layer in training go: to a GPU, or, in tests, to lanes that a CPU simulates.
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

/// Launches on a GPU's current stream. Null elsewhere: layers are the CPU's own, or LibTorch's operators.
std::shared_ptr<const LayerLauncher> make_layer_launcher(c10::Device device);

}  // namespace roll
