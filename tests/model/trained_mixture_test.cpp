// A mixture of experts as a GPU trains it, on the fake device.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "model/trained_mixture.h"
#include "ops/simulated_layer_launcher.h"

namespace roll {

TEST_CASE("a mixture is trained on a device as on the CPU, by grouped products or one after the other", "[model]") {
  const auto [dtype, tolerance] = GENERATE(table<at::ScalarType, double>({{at::kBFloat16, 6e-2}, {at::kFloat, 2e-3}}));
  const char* const arch = GENERATE("qwen3_moe", "qwen2_moe");
  const bool has_kernels = GENERATE(false, true);
  const auto recompute = GENERATE(Recomputation{}, kEveryLayer);
  INFO(arch << " in " << at::toString(dtype) << ", kernels: " << has_kernels);
  if (has_kernels) other_layer_launcher = std::make_shared<test::SimulatedLayerLauncher>();
  test::take_device_counts();
  test::check_trained_mixture(test::mixture_spec(arch, 64, 6, 2), test::fake_device(), dtype, tolerance,
                              dtype == at::kBFloat16, recompute);
  other_layer_launcher.reset();
  test::DeviceCounts counts = test::take_device_counts();
  const bool is_grouped = counts.launches.contains("aten::_grouped_mm");
  CHECK(is_grouped == (dtype == at::kBFloat16));
  // Forward, and twice back: gate and up, of which kernels need one product, and down.
  const int64_t products = has_kernels ? 2 : 3, passes = recompute.layers > 0 ? 4 : 3;
  if (is_grouped) CHECK(counts.launches["aten::_grouped_mm"] == 2 * products * passes);
}

}  // namespace roll
