// What follows from the description of layers, and that the training forward walks it.
#include "model/layer.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "dist/local_ranks.h"
#include "model/log_probs.h"
#include "model/odd_layers.h"
#include "model/parameter_shards.h"

namespace roll {

using test::odd_layered_model;

namespace {

std::vector<std::string> layer_names(const ModelSpec& spec) {
  std::vector<std::string> names;
  for (const auto& parameter : backbone_parameters(spec)) names.push_back(parameter.name);
  return names;
}

at::Tensor normed(const at::Tensor& x, const at::Tensor& weight) {
  return x / (x.square().mean(-1, true) + 1e-6).sqrt() * weight;
}

/// The odd model's forward pass over one sequence, written out by weight names in float64: [T, E].
class Reference {
 public:
  explicit Reference(const Transformer& model) {
    for (const auto& [name, tensor] : model.parameters()) weights_[name] = tensor.detach().to(at::kDouble);
  }

  at::Tensor operator()(const std::vector<int64_t>& ids) const {
    const std::string first = "model.layers.0.", second = "model.layers.1.";
    at::Tensor x = weight("model.embed_tokens").index_select(0, at::tensor(ids));
    x = x + mlp(first + "mlp.", normed(x, weight(first + "post_attention_layernorm")));
    x = x + attention(first + "self_attn.", "_proj", normed(x, weight(first + "input_layernorm")));
    x = x + attention(second + "self_attn.", "_proj", normed(x, weight(second + "input_layernorm")));
    x = x + mlp(second + "mlp.", normed(x, weight(second + "post_attention_layernorm")));
    x = x + attention(second + "again.", "", normed(x, weight(second + "again.norm")));
    return normed(x, weight("model.norm"));
  }

 private:
  at::Tensor weight(const std::string& name) const { return weights_.at(name + ".weight"); }
  at::Tensor linear(const std::string& name, const at::Tensor& x) const {
    return at::linear(x, weight(name), weights_.at(name + ".bias"));
  }
  at::Tensor mlp(const std::string& of, const at::Tensor& x) const {
    return linear(of + "down_proj", at::silu(linear(of + "gate_proj", x)) * linear(of + "up_proj", x));
  }
  at::Tensor attention(const std::string& of, const std::string& end, const at::Tensor& x) const {
    const int64_t count = x.size(0), size = 22;
    const at::Tensor angle =
        at::outer(at::arange(count, at::kDouble), at::pow(10000.0, -at::arange(0, size, 2, at::kDouble) / size));
    const auto turned = [&](const std::string& name) {
      const at::Tensor h = normed(linear(of + name + end, x).view({count, -1, size}), weight(of + name + "_norm"));
      const at::Tensor cos = angle.cos().unsqueeze(1), sin = angle.sin().unsqueeze(1);
      const at::Tensor a = h.narrow(2, 0, size / 2), b = h.narrow(2, size / 2, size / 2);
      return at::cat({a * cos - b * sin, b * cos + a * sin}, 2).transpose(0, 1);
    };
    const auto shared = [](const at::Tensor& heads) { return heads.repeat_interleave(3, 0); };
    const at::Tensor mask = at::full({count, count}, -INFINITY, at::kDouble).triu(1);
    const at::Tensor scores = at::matmul(turned("q"), shared(turned("k")).transpose(1, 2)) / std::sqrt(22.0) + mask;
    const at::Tensor values = linear(of + "v" + end, x).view({count, -1, size}).transpose(0, 1);
    const at::Tensor mixed = at::matmul(at::softmax(scores, -1), shared(values)).transpose(0, 1);
    return linear(of + "o" + end, mixed.reshape({count, -1}));
  }

  std::map<std::string, at::Tensor> weights_;
};

}  // namespace

TEST_CASE("parameters follow the layers that an architecture describes", "[model]") {
  const Transformer model = odd_layered_model("odd");
  const std::vector<std::string> names = layer_names(model.spec());
  CHECK(names[1] == "model.layers.0.mlp.gate_proj.weight");
  CHECK(std::ranges::count(names, "model.layers.1.again.q_norm.weight") == 1);
  CHECK(std::ranges::count(names, "model.layers.0.again.q_norm.weight") == 0);
  const int64_t attention = 40 * 22 * (6 + 2 + 2 + 6) + 22 * (6 + 2 + 2) + 40 + 2 * 22 + 40;  // products, biases, norms
  const int64_t mlp = 3 * 40 * 90 + 2 * 90 + 40 + 40, wider = 3 * 40 * 122 + 2 * 122 + 40 + 40;
  CHECK(model.spec().num_parameters() == 71 * 40 + 40 + 3 * attention + mlp + wider);
}

TEST_CASE("what layers cost is the sum of their blocks", "[model]") {
  const ModelSpec spec = odd_layered_model("odd").spec();
  const LayerCost cost = layer_cost(spec.layers());
  CHECK(cost.flops == 2.0 * (3 * 40 * 22 * 16 + 3 * 40 * 90 + 3 * 40 * 122));
  CHECK(cost.square_flops == 3 * 2.0 * 6 * 22);
  CHECK(cost.cached == 3 * 2 * 2 * 22);
  CHECK(layer_cost(spec.layers(), 2).cached == 3 * 2 * 22);
  CHECK(layer_cost(spec.layers(), 4).cached == 3 * 2 * 22);  // at least a head
  CHECK(spec.forward_flops(10, 3) == cost.flops * 10 + cost.square_flops * 100 + 2.0 * 3 * 71 * 40);
  CHECK(layer_cost(odd_layered_model("mlps").spec().layers()).cached == 0);
}

TEST_CASE("tensor ranks must be able to share every mixer", "[model]") {
  CHECK(tensor_parallel_rule(odd_layered_model("odd").spec(), 4) == "must divide the model's 6 attention heads");
  CHECK(tensor_parallel_rule(odd_layered_model("mlps").spec(), 4).empty());
  CHECK(tensor_parallel_rule(odd_layered_model("uneven").spec(), 6) == "must divide the model's 3 attention heads");
}

TEST_CASE("a back-end knows a model by the kinds of its mixers", "[model]") {
  const std::vector<Layer> odd = odd_layered_model("odd").spec().layers(),
                           mlps = odd_layered_model("mlps").spec().layers();
  CHECK(MixerKinds<Attention, GatedMlp>::include_all(odd));
  CHECK_FALSE(MixerKinds<Attention>::include_all(odd));
  CHECK_FALSE(MixerKinds<GatedMlp>::include_all(odd));
  CHECK(MixerKinds<GatedMlp>::include_all(mlps));
  CHECK_THROWS_AS(MixerKinds<Attention>::visit(mlps[0][0].mixer, [](const Attention&) {}), Bug);
}

TEST_CASE("the training forward computes the blocks in the order in which they are described", "[model]") {
  const Transformer model = odd_layered_model("odd");
  const std::vector<int64_t> ids = {3, 1, 4, 1, 5, 9, 2, 6};
  const at::Tensor expected = Reference(model)(ids);
  const at::Tensor x = model.forward(pack_tokens({ids}));
  CHECK(at::allclose(x.to(at::kDouble), expected, 1e-4, 1e-4));
  const at::Tensor again = model.forward(pack_tokens({ids}), kEveryLayer);
  CHECK(at::equal(again, x));
  again.sum().backward();
  for (const auto& [name, tensor] : model.parameters()) {
    CAPTURE(name);
    CHECK(tensor.grad().defined());
  }
}

}  // namespace roll
