// A mixture of experts against each token's own sum, and what its training keeps of layouts.
#include "model/experts.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"
#include "model/log_probs.h"
#include "model/model_folder.h"
#include "model/some_ids.h"
#include "model/telling_model.h"
#include "ops/choose_experts.h"
#include "ops/grouped_linear.h"
#include "ops/sorted_rows.h"

namespace roll {

using Catch::Contains;

TEST_CASE("the most likely experts are chosen, of equally likely ones the first, and weighed", "[model]") {
  const at::Tensor logits = at::tensor({1.0, 3.0, 2.0, 3.0, -1.0, 0.0}).view({1, 6}).to(at::kFloat);
  const at::Tensor probs = at::softmax(logits, 1)[0];
  const at::Tensor order = at::tensor({1, 3, 2}, at::kLong), kept = probs.index_select(0, order);
  for (const bool renormalises : {false, true}) {
    const at::Tensor expected = renormalises ? kept / kept.sum() : kept;
    const Routing found = route(logits, 3, renormalises);
    CHECK(at::equal(found.experts[0], order));
    CHECK(at::allclose(found.weights[0], expected));
    int32_t experts[3];
    at::Tensor weights = at::empty({3});
    choose_experts(logits.const_data_ptr<float>(), 6, 3, renormalises, experts, weights.mutable_data_ptr<float>());
    CHECK((experts[0] == 1 && experts[1] == 3 && experts[2] == 2));
    CHECK(at::allclose(weights, expected));
  }
}

TEST_CASE("rows go to their groups in order, and come back weighted, with gradients as by hand", "[model]") {
  const at::Tensor groups = at::tensor({2, 0, 0, 3, 2, 3, 0, 2}, at::kLong).view({4, 2});
  const SortedRows rows = sort_rows(groups, 5);
  CHECK(rows.counts == std::vector<int64_t>{3, 0, 3, 2, 0});
  at::Tensor x = at::randn({4, 3}, at::kDouble).requires_grad_(true), plain = x.detach().clone().requires_grad_(true);
  at::Tensor w = at::rand({4, 2}, at::kDouble).requires_grad_(true), plain_w = w.detach().clone().requires_grad_(true);
  std::vector<at::Tensor> weights;
  for (int64_t g = 0; g < 5; ++g) weights.push_back(at::randn({6, 3}, at::kDouble).requires_grad_(true));
  const at::Tensor spread = spread_rows(x, rows);
  CHECK(at::equal(spread[0], x[0]));  // of the first choice of group 0, which is token 0's second
  CHECK(at::equal(spread[1], x[1]));
  CHECK(at::equal(spread[2], x[3]));
  const at::Tensor sum = combine_rows(grouped_linear(spread, rows.counts, weights), w, rows);
  std::vector<at::Tensor> by_hand;
  for (int64_t t = 0; t < 4; ++t) {
    at::Tensor of_token = at::zeros({6}, at::kDouble);
    for (int64_t k = 0; k < 2; ++k) {
      const at::Tensor weight = weights[groups[t][k].item<int64_t>()].detach();
      of_token = of_token + plain_w[t][k] * at::mv(weight, plain[t]);
    }
    by_hand.push_back(of_token);
  }
  CHECK(at::allclose(sum, at::stack(by_hand)));
  const at::Tensor ramp = at::linspace(-1, 2, sum.numel(), at::kDouble).view(sum.sizes());
  (sum * ramp).sum().backward();
  (at::stack(by_hand) * ramp).sum().backward();
  CHECK(at::allclose(x.grad(), plain.grad()));
  CHECK(at::allclose(w.grad(), plain_w.grad()));
  CHECK_FALSE(weights[1].grad().defined());  // no row, no gradient
  const at::Tensor of_three = at::outer(ramp[1] * plain_w[1][1].detach(), plain[1].detach()) +
                              at::outer(ramp[2] * plain_w[2][1].detach(), plain[2].detach());
  CHECK(at::allclose(weights[3].grad(), of_three));
  const at::Tensor once = weights[3].grad().clone();  // what is there is added to, in place
  combine_rows(grouped_linear(spread_rows(x.detach(), rows), rows.counts, weights), w.detach(), rows).mul(ramp).sum().backward();
  CHECK(at::allclose(weights[3].grad(), 2 * once));
}

namespace {

Transformer mixture(const char* arch) {
  InitSizes sizes;
  sizes.arch = arch, sizes.vocab = 71, sizes.hidden = 32, sizes.layers = 2, sizes.kv_heads = 2;
  sizes.experts = 5, sizes.expert_intermediate = 22;
  return test::telling_model(sizes);
}

}  // namespace

TEST_CASE("a mixture recomputes its activations to the same gradients, to the bit", "[model]") {
  const char* const arch = GENERATE("qwen2_moe", "qwen3_moe");
  const PackedTokens tokens = pack_tokens({test::some_ids(9, 1), test::some_ids(30, 2)});
  NamedTensors gradients[2];
  for (const bool recomputes : {false, true}) {
    const Transformer model = mixture(arch);
    token_log_probs(model, tokens, 1.0, true, recomputes).log_probs.sum().backward();
    for (const auto& [name, tensor] : model.parameters()) gradients[recomputes].emplace_back(name, tensor.grad().clone());
  }
  for (size_t i = 0; i < gradients[0].size(); ++i) {
    CAPTURE(gradients[0][i].first);
    CHECK(at::equal(gradients[0][i].second, gradients[1][i].second));
  }
}

TEST_CASE("adapters on experts are refused, on attention they are not", "[model]") {
  const ModelSpec spec = mixture("qwen3_moe").spec();
  const auto refused = [&](LoraSpec lora) { return test::message_of([&] { with_adapters(spec, lora, "m"); }); };
  CHECK(refused({.targets = {"q_proj", "v_proj"}}) == "no exception");
  CHECK_THAT(refused({}), Contains("lora_target = all-linear: adapters on experts and routers are not supported"));
  CHECK_THAT(refused({.targets = {"q_proj", "up_proj"}}), Contains("lora_target = q_proj, up_proj"));
  CHECK_THAT(refused({.targets = {"q_proj"}, .quantise_base = Quantisation::kInt8}), Contains("quantise_base = int8"));
}

}  // namespace roll
