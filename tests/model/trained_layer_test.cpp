// A layer as a GPU trains it, on the fake device with the kernels' texts on fibres: its numbers against the CPU's own
// in float64, its launches and its bytes.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <catch2/catch.hpp>
#include <functional>

#include "model/mixers.h"
#include "model/transformer.h"
#include "ops/attention.h"
#include "ops/fake_device.h"
#include "ops/recompute.h"
#include "ops/simulated_layer_launcher.h"
#include "optim/optimizer.h"

namespace roll {

namespace {

constexpr int64_t kTokens = 48;
const std::vector<int64_t> kBounds = {0, 1, 20, kTokens};

ModelSpec layer_spec(bool qkv_bias, bool qk_norm) {
  return {.vocab_size = 16,
          .hidden_size = 64,
          .intermediate_size = 96,
          .num_layers = 1,
          .num_heads = 6,
          .num_kv_heads = 2,
          .head_dim = 16,
          .qkv_bias = qkv_bias,
          .qk_norm = qk_norm};
}

at::Tensor to_fake(const at::Tensor& x) {
  return x.detach().to(test::fake_device());
}

/// One launch, and one in backward, as LibTorch's flash kernels are; computed by the CPU's attention.
class FakeAttention : public torch::autograd::Function<FakeAttention> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& q, const at::Tensor& k,
                            const at::Tensor& v, double scale) {
    test::count_launch("attention");
    ctx->save_for_backward({q, k, v});
    ctx->saved_data["scale"] = scale;
    return filled(q, attend({q, k, v}, scale));
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    test::count_launch("attention backward");
    const at::AutoGradMode enable(true);
    std::vector<at::Tensor> inputs, found(4);
    for (const at::Tensor& x : ctx->get_saved_variables())
      inputs.push_back(test::memory_of(x).detach().clone().requires_grad_());
    attend(inputs, ctx->saved_data["scale"].toDouble()).backward(test::memory_of(grads[0]).clone());
    for (int i = 0; i < 3; ++i) found[i] = filled(ctx->get_saved_variables()[i], inputs[i].grad());
    return found;
  }

 private:
  static at::Tensor attend(const std::vector<at::Tensor>& x, double scale) {
    const auto on_cpu = [&](int i) { return x[i].is_cpu() ? x[i] : test::memory_of(x[i]); };
    return packed_attention(on_cpu(0), on_cpu(1), on_cpu(2), kBounds, kBounds, scale);
  }
  static at::Tensor filled(const at::Tensor& like, const at::Tensor& numbers) {
    const at::Tensor there = at::empty(like.sizes(), like.options());
    test::memory_of(there).copy_(numbers.detach());
    return there;
  }
};

LayerPass pass_on(at::Device device, const ModelSpec& spec, const LayerLauncher* launcher) {
  const at::Tensor positions = at::remainder(at::arange(kTokens), 28).to(device);
  const auto attend = [device](const Attention& attention, const at::Tensor& q, const at::Tensor& k,
                               const at::Tensor& v, const at::Tensor&) -> at::Tensor {
    if (device.is_cpu()) return packed_attention(q, k, v, kBounds, kBounds, attention.scale());
    return FakeAttention::apply(q, k, v, attention.scale());
  };
  return {.eps = 1e-6,
          .head_rotations = {{make_rotation(inverse_frequencies(spec.ropes()[0]).to(device), at::arange(28).to(device),
                                            positions)}},
          .attend = attend,
          .flow = {std::identity(), std::identity()},
          .launcher = launcher};
}

/// A layer's parameters on the fake device, in an optimizer's flat buffers or, without one, apart.
struct LayerOnDevice {
  ModelSpec spec;
  Transformer on_host;
  NamedTensors parameters;
  std::optional<FlatOptimizer> optimizer;

  LayerOnDevice(const ModelSpec& s, at::ScalarType dtype, bool has_optimizer)
      : spec(s), on_host(Transformer::init(s, 1, at::kCPU, dtype)) {
    for (const auto& [name, tensor] : on_host.parameters()) {
      // Norms and biases of 1 and 0 would hide what is left out.
      const at::Tensor own = tensor.dim() == 1 ? at::randn(tensor.sizes()).to(dtype) : tensor.detach() * 6;
      at::Tensor(tensor).set_data(own);
      parameters.emplace_back(name, to_fake(own).requires_grad_());
    }
    if (has_optimizer) optimizer.emplace(parameters, AdamWConfig{});
  }
  LayerWeights weights() const { return {spec.layers()[0], 0, layer_prefix(spec, 0), parameters}; }
  LayerWeights reference() const {
    NamedTensors wide;
    for (const auto& [name, tensor] : on_host.parameters())
      wide.emplace_back(name, tensor.detach().to(at::kDouble).requires_grad_());
    return {spec.layers()[0], 0, layer_prefix(spec, 0), wide};
  }
};

void check_close(const at::Tensor& found, const at::Tensor& exact, double tolerance) {
  REQUIRE(found.defined());
  const at::Tensor here = test::memory_of(found.detach()).to(at::kDouble);
  CHECK((here - exact).abs().max().item<double>() <= tolerance * exact.abs().max().item<double>());
}

}  // namespace

TEST_CASE("a layer of kernels and packed products is the CPU's in float64, and so are its gradients", "[model]") {
  at::manual_seed(1);
  const auto [dtype, tolerance] = GENERATE(table<at::ScalarType, double>({{at::kFloat, 1e-5}, {at::kBFloat16, 3e-2}}));
  const bool qkv_bias = GENERATE(false, true), qk_norm = GENERATE(false, true), has_optimizer = GENERATE(false, true);
  CAPTURE(dtype, qkv_bias, qk_norm, has_optimizer);
  const auto launcher = std::make_shared<test::SimulatedLayerLauncher>();
  const LayerOnDevice layer(layer_spec(qkv_bias, qk_norm), dtype, has_optimizer);
  const at::Tensor x = at::randn({kTokens, 64}).to(dtype), slopes = at::randn({kTokens, 64}).to(dtype);
  const at::Tensor own = to_fake(x).requires_grad_(), exact = x.to(at::kDouble).requires_grad_();
  const LayerWeights weights = layer.weights(), reference = layer.reference();
  const at::Tensor found = run_layer(weights, own, pass_on(test::fake_device(), layer.spec, launcher.get()));
  const at::Tensor wanted = run_layer(reference, exact, pass_on(at::kCPU, layer.spec, nullptr));
  check_close(found, wanted.detach(), tolerance);
  found.backward(to_fake(slopes));
  wanted.backward(slopes.to(at::kDouble));
  check_close(own.grad(), exact.grad(), tolerance);
  const auto ours = weights.all(), theirs = reference.all();
  for (size_t i = 0; i < ours.size(); ++i) {
    INFO("parameter " << i);
    check_close(ours[i].grad(), theirs[i].grad(), tolerance);
  }
}

TEST_CASE("a trained layer takes 12 launches forward, 24 backward, and few bytes", "[model]") {
  const bool qkv_bias = GENERATE(false, true), qk_norm = GENERATE(false, true);
  const auto dtype = GENERATE(at::kBFloat16, at::kFloat);
  const auto launcher = std::make_shared<test::SimulatedLayerLauncher>();
  const LayerOnDevice layer(layer_spec(qkv_bias, qk_norm), dtype, true);
  const LayerWeights weights = layer.weights();
  const LayerPass pass = pass_on(test::fake_device(), layer.spec, launcher.get());
  const at::Tensor x = to_fake(at::randn({kTokens, 64}).to(dtype)).requires_grad_();
  const at::Tensor slopes = to_fake(at::randn({kTokens, 64}).to(dtype));
  const auto launches = [](const char* what) {
    const test::DeviceCounts counts = test::take_device_counts();
    std::string text = what;
    for (const auto& [name, times] : counts.launches) text += fmt::format(" {} {},", times, name);
    UNSCOPED_INFO(text);
    CHECK(counts.waits.empty());
    CHECK(counts.copies_in.empty());
    return test::DeviceCounts::sum(counts.launches);
  };
  test::take_device_counts();
  const at::Tensor y = run_layer(weights, x, pass);
  CHECK(launches("forward:") <= 12);
  const auto forward = launcher->take_bytes();
  y.backward(slopes);
  CHECK(launches("backward:") <= 24);
  const auto backward = launcher->take_bytes();
  if (dtype != at::kBFloat16) return;
  // With recomputation, forward twice. What LibTorch adds at the layer's end reads two numbers and writes one.
  const auto bytes = [&](const std::string& kernel, double numbers) {
    return static_cast<double>(2 * forward.at(kernel) + backward.at(kernel + " backward")) / numbers / kTokens;
  };
  const double of_sums = qk_norm ? 0 : static_cast<double>(backward.at("sums")) / 64 / kTokens;
  const double hidden = bytes("norm", 64) + of_sums + 2 * 3 * 2, inner = bytes("gate", 96);
  const double values = 4.0 * 2 / (6 + 2);  // backward moves their gradients to where the packed ones are
  const double rotated = bytes("heads", (6 + 2) * 16) - values;
  UNSCOPED_INFO(
      fmt::format("bytes: {:.1f} a hidden element, {:.1f} a rotated, {:.1f} an inner", hidden, rotated, inner));
  CHECK(hidden <= 55);
  // Heads are read and written in each forward pass, their gradients in backward. A norm's backward reads what was
  // normed as well, which no kernel between the products and the attention can spare.
  CHECK(rotated <= (qk_norm ? 14.25 : 12));
  CHECK(inner <= 22);
}

TEST_CASE("a layer of odd sizes runs without kernels", "[model]") {
  const auto launcher = std::make_shared<test::SimulatedLayerLauncher>();
  ModelSpec spec = layer_spec(true, true);
  spec.intermediate_size = 90;
  const LayerOnDevice layer(spec, at::kFloat, true);
  const at::Tensor x = at::randn({kTokens, 64});
  const at::Tensor found = run_layer(layer.weights(), to_fake(x), pass_on(test::fake_device(), spec, launcher.get()));
  CHECK(launcher->take_bytes().empty());
  check_close(found, run_layer(layer.reference(), x.to(at::kDouble), pass_on(at::kCPU, spec, nullptr)), 1e-5);
}

}  // namespace roll
