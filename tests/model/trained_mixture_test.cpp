// A mixture of experts as a GPU trains it, on the fake device.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "model/trained_mixture.h"
#include "ops/grouped_products.h"
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

TEST_CASE("a layer's experts lie one behind the other on a device, as one product reads them", "[model]") {
  const ModelSpec spec = test::mixture_spec("qwen3_moe", 64, 6, 2);
  const Transformer model = Transformer::init(spec, 1, test::fake_device(), at::kBFloat16);
  const Transformer here = Transformer::init(spec, 1, at::kCPU, at::kBFloat16);
  std::vector<at::Tensor> gate_up, down;
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const auto& [name, tensor] = model.parameters()[i];
    CHECK(at::equal(tensor.cpu(), here.parameters()[i].second));
    CHECK((tensor.requires_grad() && tensor.is_leaf()));
    if (name.starts_with("model.layers.1.mlp.experts."))
      (name.find("down") < name.size() ? down : gate_up).push_back(tensor);
  }
  CHECK(stacked_in_place(gate_up, 2).defined());
  CHECK(stacked_in_place(down, 1).defined());
}

}  // namespace roll
