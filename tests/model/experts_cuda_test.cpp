// Mixtures of experts on a GPU against the CPU's. They run where one is (scripts/gpu_check.py).
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>
#include <variant>

#include "decode/decoding.h"
#include "device/device_graph.h"
#include "device/on_device.h"
#include "model/device.h"
#include "model/trained_mixture.h"
#include "ops/fused_layer.h"
#include "ops/grouped_products.h"

namespace roll {

using test::Lying;

TEST_CASE("this GPU has grouped products of bfloat16, or is older than an H100", "[gpu]") {
  use_device({at::kCUDA, 0});
  int capability = 0;
  launch_on({at::kCUDA, 0}, [&](void*) { capability = cuda::compute_capability(); });
  CAPTURE(capability);
  const at::Tensor x = at::zeros({8, 16}, at::TensorOptions(at::kCUDA).dtype(at::kBFloat16));
  CHECK(has_grouped_products(x, 4, 16) == (capability / 10 == 9 || capability / 10 == 10));
  CHECK_FALSE(has_grouped_products(x.to(at::kFloat), 4, 16));
}

TEST_CASE("grouped products on CUDA are the CPU's, gradients too", "[gpu]") {
  use_device({at::kCUDA, 0});
  const auto [dtype, tolerance] = GENERATE(table<at::ScalarType, double>({{at::kBFloat16, 2e-2}, {at::kFloat, 1e-4}}));
  const auto counts = GENERATE(from_range(test::kRowCounts));
  const int64_t parts = GENERATE(1, 2);
  const auto lying = GENERATE(Lying::kTogether, Lying::kApart, Lying::kSpaced);
  const bool has_gradients = GENERATE(false, true);
  INFO("in " << at::toString(dtype));
  test::check_grouped(at::kCUDA, dtype, tolerance, {counts, 24, 16, parts, lying, has_gradients});
}

TEST_CASE("grouped products on CUDA of Qwen3-30B-A3B's sizes are the CPU's, gradients too", "[gpu]") {
  use_device({at::kCUDA, 0});
  const auto [dtype, tolerance] = GENERATE(table<at::ScalarType, double>({{at::kBFloat16, 2e-2}, {at::kFloat, 1e-4}}));
  INFO("in " << at::toString(dtype));
  const std::vector<int64_t> counts = {300, 0, 1, 513, 128, 64, 0, 7};
  test::check_grouped(at::kCUDA, dtype, tolerance, {counts, 2048, 768, 2, Lying::kTogether, true});
  test::check_grouped(at::kCUDA, dtype, tolerance, {counts, 768, 2048, 1, Lying::kTogether, true});
}

TEST_CASE("a mixture of experts on CUDA can be recorded: nothing in it waits for the host", "[gpu]") {
  const at::NoGradGuard no_grad;
  const at::Device device(at::kCUDA, 0);
  use_device(device);
  const char* const arch = GENERATE("qwen3_moe", "qwen2_moe");
  const int64_t rows = GENERATE(1, 64, 5000);
  CAPTURE(arch, rows);
  const Transformer model = Transformer::init(test::mixture_spec(arch, 256, 16, 4), 1, device, at::kBFloat16);
  const LayerWeights& layer = model.backbone().layers()[0];
  const auto& experts = std::get<Experts>(layer.layer().back().mixer);
  const auto launcher = make_layer_launcher(device);
  at::Tensor x = at::randn({rows, 256}, at::TensorOptions(device)).to(at::kBFloat16), y = at::empty_like(x);
  const auto work = [&] { y.copy_(mix_experts(experts, layer, x, {.launcher = launcher.get()})); };
  work();
  const auto recorder = make_graph_recorder(device);
  const auto graph = recorder->record(work);
  for (const double scale : {0.1, 1.0, 10.0}) {
    x.copy_(at::randn({rows, 256}) * scale);
    graph->replay();
    const at::Tensor replayed = y.clone();
    work();
    CAPTURE(scale);
    CHECK(test::relative_difference(replayed, y.cpu()) == 0);
  }
}

TEST_CASE("a mixture is trained on CUDA as on the CPU", "[gpu]") {
  use_device({at::kCUDA, 0});
  const auto [dtype, tolerance] = GENERATE(table<at::ScalarType, double>({{at::kBFloat16, 8e-2}, {at::kFloat, 2e-3}}));
  const char* const arch = GENERATE("qwen3_moe", "qwen2_moe");
  const auto recompute = GENERATE(Recomputation{}, kEveryLayer);
  INFO(arch << " in " << at::toString(dtype));
  test::check_trained_mixture(test::mixture_spec(arch, 256, 16, 4), at::kCUDA, dtype, tolerance, dtype == at::kBFloat16,
                              recompute);
}

TEST_CASE("a mixture on CUDA decodes what it computes whole, and records its experts on the way", "[gpu]") {
  const at::NoGradGuard no_grad;
  use_device({at::kCUDA, 0});
  const auto [dtype, tolerance] = GENERATE(table<at::ScalarType, double>({{at::kBFloat16, 5e-2}, {at::kFloat, 1e-4}}));
  INFO("in " << at::toString(dtype));
  const Transformer model = Transformer::init(test::mixture_spec("qwen3_moe", 256, 16, 4), 1, at::kCUDA, dtype);
  const DecoderSizes sizes{.page_size = 16, .num_pages = 8, .max_length = 80, .max_rows = 80, .records_experts = true};
  const auto decoder = make_decoder(model, sizes);
  test::Decoding sequences(*decoder, sizes, model.spec().vocab_size, 1);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 10; ++i) ids.push_back(37 * i % 640);
  sequences.step({{0, {ids.begin(), ids.begin() + 9}}});
  const at::Tensor decoded = sequences.step({{0, {ids[9]}}});
  const at::Tensor whole = model.logits(model.forward(pack_tokens({ids}, at::kCUDA)));
  CHECK(test::relative_difference(decoded[0], whole[9].cpu()) < tolerance);
  CHECK(std::ssize(sequences.experts(0)) == 10 * choices_per_token(model.spec()));
}

}  // namespace roll
