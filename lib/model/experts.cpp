#include "model/experts.h"

#include <ATen/ATen.h>

#include "ops/accumulating_linear.h"
#include "ops/grouped_linear.h"
#include "ops/layer_ops.h"
#include "ops/products.h"
#include "ops/sorted_rows.h"

namespace roll {

namespace {

using NamedLinear = std::pair<std::string_view, Linear>;

/// Of `count` parts, each `step` parts behind the one before.
std::vector<at::Tensor> weights_of(const NamedLinear* first, int64_t count, int64_t step) {
  std::vector<at::Tensor> found;
  for (int64_t i = 0; i < count; ++i) found.push_back(first[i * step].second.weight);
  return found;
}

at::Tensor shared_of(const Experts& experts, const LayerWeights& weights, const at::Tensor& x) {
  const GatedMlp& mlp = *experts.shared;
  const at::Tensor gated = swiglu(product(weights[mlp.gate], x), product(weights[mlp.up], x));
  return at::sigmoid(product(weights[experts.shared_gate], x)) * product(weights[mlp.down], gated);
}

}  // namespace

Routing route(const at::Tensor& logits, int64_t chosen, bool renormalises) {
  const at::Tensor probs = at::softmax(logits, 1);
  const at::Tensor order = at::argsort(probs.detach(), /*stable=*/true, /*dim=*/1, /*descending=*/true);
  Routing routing{.experts = order.narrow(1, 0, chosen).contiguous(), .weights = {}};
  routing.weights = probs.gather(1, routing.experts);
  if (renormalises) routing.weights = routing.weights / routing.weights.sum(1, /*keepdim=*/true);
  return routing;
}

at::Tensor mix_experts(const Experts& experts, const LayerWeights& weights, const at::Tensor& x) {
  const at::ScalarType wide = wide_dtype(x);
  const at::Tensor& router = weights[experts.router].weight;
  const at::Tensor logits =
      wide == x.scalar_type() ? accumulating_linear(x, router) : at::linear(x.to(wide), router.to(wide));
  const Routing routing = route(logits, experts.chosen, experts.renormalises);
  const SortedRows rows = sort_rows(routing.experts, experts.count);
  const NamedLinear* const parts = weights.from(experts.parts->linears.front());
  const int64_t count = experts.count;
  const at::Tensor spread = spread_rows(x, rows);
  const at::Tensor gated = swiglu(grouped_linear(spread, rows.counts, weights_of(parts, count, 2)),
                                  grouped_linear(spread, rows.counts, weights_of(parts + 1, count, 2)));
  const at::Tensor results = grouped_linear(gated, rows.counts, weights_of(parts + 2 * count, count, 1));
  const at::Tensor sum = combine_rows(results, routing.weights, rows);
  return experts.shared ? sum + shared_of(experts, weights, x) : sum;
}

}  // namespace roll
