// A layer launcher whose lanes are fibres of the CPU, over the memory of CPU tensors or of the fake device. Counts.
#pragma once

#include "cuda/warps.h"
#include "ops/fake_device.h"
#include "ops/layer_launcher.h"

namespace roll::test {

class SimulatedLayerLauncher : public LayerLauncher {
 public:
  void launch(const LayerKernelOf<float>& kernel) const override { run(kernel); }
  void launch(const LayerKernelOf<Bf16>& kernel) const override { run(kernel); }

  /// Of the device's memory, as the kernels say, by kernel.
  std::map<std::string, int64_t> take_bytes() const { return std::exchange(bytes_, {}); }

 private:
  /// As they stand in LayerKernelOf.
  static constexpr const char* kNames[] = {"norm",          "norm backward", "heads", "heads backward", "gate",
                                           "gate backward", "rows backward", "sums",  "adamw"};

  template <class Kernels>
  void run(const Kernels& kernels) const {
    std::visit(
        [&](const auto& kernel) {
          run_kernel(kernel);
          bytes_[kNames[kernels.index()]] += kernel.bytes();
        },
        kernels);
    count_launch(kNames[kernels.index()]);
  }
  mutable std::map<std::string, int64_t> bytes_;
};

}  // namespace roll::test
