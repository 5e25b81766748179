// A mixture of experts as a GPU trains it, on the fake device.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <map>

#include "checkpoint/temporary_folder.h"
#include "model/some_ids.h"
#include "model/trained_mixture.h"
#include "ops/fake_device.h"
#include "ops/grouped_products.h"
#include "ops/simulated_layer_launcher.h"

namespace roll {

TEST_CASE("a mixture is trained on a device as on the CPU, by grouped products or one after the other", "[model]") {
  const auto [dtype, tolerance] = GENERATE(table<at::ScalarType, double>({{at::kBFloat16, 6e-2}, {at::kFloat, 2e-3}}));
  const char* const arch = GENERATE("qwen3_moe", "qwen2_moe");
  const bool has_kernels = GENERATE(false, true);
  const auto recompute = GENERATE(Recomputation{}, kEveryLayer);
  INFO(arch << " in " << at::toString(dtype) << ", kernels: " << has_kernels);
  test::take_device_counts();
  test::check_trained_mixture(test::mixture_spec(arch, 64, 6, 2), test::fake_device(), dtype, tolerance,
                              dtype == at::kBFloat16, recompute,
                              has_kernels ? std::make_shared<test::SimulatedLayerLauncher>() : nullptr);
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

TEST_CASE("adapters of experts compute and learn on a device what they do on the CPU, gate before up",
          "[model][lora]") {
  const test::TemporaryFolder folder;
  Transformer::init(test::mixture_spec("qwen3_moe", 64, 6, 2), 1).save(folder / "m");
  const LoraSpec lora{.rank = 8, .alpha = 16};  // ranks that one kernel takes
  const bool has_kernels = GENERATE(false, true);
  const auto launcher = std::make_shared<test::SimulatedLayerLauncher>();
  at::Tensor found[2];
  std::map<std::string, at::Tensor> gradients[2];
  for (const bool is_there : {false, true}) {
    const Transformer model = Transformer::load(folder / "m", is_there ? test::fake_device() : at::Device(at::kCPU),
                                                is_there ? at::kBFloat16 : at::kFloat, {}, architectures(), lora);
    for (const auto& [name, tensor] : model.parameters()) {
      at::Tensor own = tensor.detach();
      const double least = name.find("gate") < name.size() ? -0.4 : -0.1;
      const at::Tensor ramp = at::linspace(least, 0.3, own.numel()).view(own.sizes());
      own.copy_(name.ends_with(kLoraB) ? ramp : (own.cpu().to(at::kFloat) * 3).to(at::kBFloat16));
    }
    const LayerWeights& layer = model.backbone().layers()[1];
    const auto& experts = std::get<Experts>(layer.layer().back().mixer);
    const at::Tensor numbers = at::sin(at::arange(40 * 64)).view({40, 64}).to(at::kBFloat16);
    const at::Tensor x = numbers.to(model.device(), model.dtype());
    const at::Tensor chosen = at::arange(160).remainder(5).view({40, 4}).to(at::kShort).to(model.device());
    const at::Tensor y = mix_experts(experts, layer, x,
                                     {.launcher = is_there && has_kernels ? launcher.get() : nullptr,
                                      .routed = {.replayed = chosen, .recorded = {}}});
    y.backward(at::cos(at::arange(y.numel())).view(y.sizes()).to(model.device(), y.scalar_type()));
    found[is_there] = y.detach().cpu();
    for (const auto& [name, tensor] : model.trained())
      if (name.find("layers.1.mlp.experts.") < name.size() && tensor.grad().defined())
        gradients[is_there][name] = tensor.grad().cpu();
  }
  CHECK(test::relative_difference(found[1], found[0]) < 2e-2);
  CHECK(gradients[0].size() == 5 * 3 * 2);  // the last expert has no tokens
  for (const auto& [name, exact] : gradients[0]) {
    INFO(name << ", kernels: " << has_kernels);
    CHECK(test::relative_difference(gradients[1][name], exact) < 6e-2);
  }
}

}  // namespace roll
