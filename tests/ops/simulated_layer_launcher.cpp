#include "ops/simulated_layer_launcher.h"

#include "cuda/warps.h"
#include "ops/fake_device.h"

namespace roll::test {
namespace {

/// As they stand in LayerKernelOf.
constexpr const char* kNames[] = {"norm",          "norm backward", "heads", "heads backward", "gate",
                                  "gate backward", "rows backward", "sums",  "adamw"};

}  // namespace

void SimulatedLayerLauncher::launch(const LayerKernelOf<float>& kernel) const {
  run(kernel);
}
void SimulatedLayerLauncher::launch(const LayerKernelOf<Bf16>& kernel) const {
  run(kernel);
}

template <class Kernels>
void SimulatedLayerLauncher::run(const Kernels& kernels) const {
  std::visit(
      [&](const auto& kernel) {
        run_kernel(kernel);
        bytes_[kNames[kernels.index()]] += kernel.bytes();
      },
      kernels);
  count_launch(kNames[kernels.index()]);
}

}  // namespace roll::test
