// A layer launcher whose lanes are fibres of the CPU, over the memory of CPU tensors or of the fake device. Counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "ops/layer_launcher.h"

namespace roll::test {

class SimulatedLayerLauncher : public LayerLauncher {
 public:
  void launch(const LayerKernelOf<float>& kernel) const override;
  void launch(const LayerKernelOf<Bf16>& kernel) const override;

  /// Of the device's memory, as the kernels say, by kernel.
  std::map<std::string, int64_t> take_bytes() const { return std::exchange(bytes_, {}); }

 private:
  template <class Kernels>
  void run(const Kernels& kernels) const;

  mutable std::map<std::string, int64_t> bytes_;
};

}  // namespace roll::test
