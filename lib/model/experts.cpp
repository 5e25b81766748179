#include "model/experts.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "device/transfers.h"
#include "dist/parallel_ops.h"
#include "model/activate.h"
#include "model/router_training.h"
#include "ops/accumulating_linear.h"
#include "ops/fused_layer.h"
#include "ops/grouped_linear.h"
#include "ops/grouped_products.h"
#include "ops/layer_ops.h"
#include "ops/planned_tensors.h"
#include "ops/products.h"
#include "ops/sorted_rows.h"

namespace roll {

namespace {

using NamedLinear = std::pair<std::string_view, Linear>;

/// Products of row groups: `parts` per group, `step` entries apart in the layer's list.
struct GroupProducts {
  const NamedLinear* first;
  int64_t step = 1, parts = 1;

  const Linear& at(int64_t i) const { return first[i * step].second; }
};

/// Returns what adapters add to the products, like product() for one. With a GPU's grouped kernel they are
/// computed in x's dtype.
at::Tensor adapter_products(const GroupProducts& products, const at::Tensor& x, const RowGroups& groups) {
  const Adapter& first_adapter = *products.at(0).adapter;
  const bool is_one_kernel = has_grouped_products(x, groups.size(), first_adapter.a.size(0));
  const at::Tensor rows = is_one_kernel ? x : x.to(first_adapter.a.scalar_type());
  std::vector<at::Tensor> added;
  for (int64_t part = 0; part < products.parts; ++part) {
    const auto collect_matrices = [&](at::Tensor Adapter::*matrix) {
      std::vector<at::Tensor> found;
      for (int64_t g = 0; g < groups.size(); ++g)
        found.push_back((*products.at(g * products.parts + part).adapter).*matrix);
      return is_one_kernel ? at::stack(found).to(x.scalar_type()).unbind() : found;
    };
    added.push_back(grouped_linear(grouped_linear(rows, groups, collect_matrices(&Adapter::a)), groups,
                                   collect_matrices(&Adapter::b)));
  }
  return added.size() == 1 ? added.front() : at::cat(added, 1);
}

/// Returns x [T, out] plus the bias of each row's expert. Gradients of biases are summed in float32 or wider.
at::Tensor with_row_biases(const at::Tensor& x, const GroupProducts& products, const RowGroups& groups) {
  std::vector<at::Tensor> biases;
  for (int64_t g = 0; g < groups.size(); ++g) biases.push_back(products.at(g).bias);
  const at::Tensor all = at::stack(biases).to(wide_dtype(x));
  const at::Tensor groups_of_rows =
      x.is_meta() ? at::empty({x.size(0)}, x.options().dtype(at::kLong))
                  : at::searchsorted(groups.ends(x.device()), at::arange(x.size(0), x.options().dtype(at::kInt)),
                                     /*out_int32=*/false, /*right=*/true);
  return (x + select_rows(all, groups_of_rows)).to(x.scalar_type());
}

/// Multiplies, adapters included: x [T, in] -> [T, parts * out]. adds_bias: adds the experts' biases; needs parts = 1.
at::Tensor multiplied(const GroupProducts& products, const at::Tensor& x, const RowGroups& groups,
                      bool adds_bias = true) {
  std::vector<at::Tensor> weights;
  for (int64_t i = 0; i < groups.size() * products.parts; ++i) weights.push_back(products.at(i).weight);
  const at::Tensor base = grouped_linear(x, groups, weights, products.parts);
  const at::Tensor sum =
      products.at(0).adapter
          ? at::add(base, adapter_products(products, x, groups), products.at(0).adapter->scale).to(base.scalar_type())
          : base;
  return products.at(0).bias.defined() && adds_bias ? with_row_biases(sum, products, groups) : sum;
}

/// Runs the MLPs of experts first, first + 1, ...; x holds the rows of each, contiguous.
at::Tensor run_experts(const Experts& experts, const LayerWeights& weights, const at::Tensor& x,
                       const RowGroups& groups, int64_t first, const ExpertPass& pass) {
  const NamedLinear* const parts = weights.from(experts.parts->linears.front());
  const NamedLinear *const gate_up = parts + 2 * first, *const down = parts + 2 * experts.routing.count + first;
  const bool is_silu = experts.activation == Activation::kSilu;
  const bool is_fused = is_silu && pass.launcher && takes_layer(x, {down->second.inputs()}, {});
  const at::Tensor gated = is_fused ? fused_gate(*pass.launcher, multiplied({.first = gate_up, .parts = 2}, x, groups))
                                    : activate(experts.activation, multiplied({.first = gate_up, .step = 2}, x, groups),
                                               multiplied({.first = gate_up + 1, .step = 2}, x, groups));
  return multiplied({.first = down}, gated, groups, pass.adds_bias);
}

/// Rows of all ranks for this rank's experts: they arrive by [rank][expert] and are multiplied by [expert][rank].
class ExpertRows {
 public:
  /// `counts`: this rank's rows by expert; `device`: the rows' device. **Collective**.
  ExpertRows(const std::vector<int64_t>& counts, Communicator& ranks, at::Device device) {
    const int64_t experts_per_rank = std::ssize(counts) / ranks.size();  // experts per rank
    rows_per_expert.resize(experts_per_rank);
    const std::vector<at::Tensor> all = ranks.all_gather(at::tensor(counts, at::kLong), "rows of experts");
    std::vector<int64_t> begins;  // start of each run of rows, in arrival order
    int64_t total = 0;
    for (int rank = 0; rank < ranks.size(); ++rank) {
      const int64_t* const own_counts = all[rank].const_data_ptr<int64_t>() + ranks.rank() * experts_per_rank;
      send.push_back(std::accumulate(counts.begin() + rank * experts_per_rank,
                                     counts.begin() + (rank + 1) * experts_per_rank, int64_t{0}));
      receive.push_back(std::accumulate(own_counts, own_counts + experts_per_rank, int64_t{0}));
      for (int64_t e = 0; e < experts_per_rank; ++e) {
        begins.push_back(total);
        total += own_counts[e];
        rows_per_expert[e] += own_counts[e];
      }
    }
    if (device.is_meta()) {
      order = inverse_order = at::empty({total}, at::TensorOptions(device).dtype(at::kLong));
      return;
    }
    std::vector<int64_t> rows;
    for (int64_t e = 0; e < experts_per_rank; ++e)
      for (int rank = 0; rank < ranks.size(); ++rank)
        for (int64_t i = 0; i < all[rank].const_data_ptr<int64_t>()[ranks.rank() * experts_per_rank + e]; ++i)
          rows.push_back(begins[rank * experts_per_rank + e] + i);
    order = at::tensor(rows, at::kLong);
    inverse_order = copy_to_device(at::empty_like(order).index_copy_(0, order, at::arange(total, at::kLong)), device);
    order = copy_to_device(order, device);
  }

  std::vector<int64_t> send, receive;  // by rank
  std::vector<int64_t> rows_per_expert;
  at::Tensor order, inverse_order;  // [rows]
};

/// Runs experts that `ranks` share on rows sorted by expert. Calls `work` while rows are in transit.
at::Tensor run_everywhere(const Experts& experts, const LayerWeights& weights, const at::Tensor& x,
                          const std::vector<int64_t>& counts, const ExpertPass& pass,
                          const std::function<void()>& work) {
  Communicator& ranks = *pass.ranks;
  const ExpertRows rows(counts, ranks, x.device());
  const at::Tensor received = exchange_rows_beside(x, rows.send, rows.receive, ranks, "rows to experts", work);
  const at::Tensor results =
      run_experts(experts, weights, select_rows(received, rows.order), RowGroups(rows.rows_per_expert),
                  ranks.rank() * std::ssize(rows.rows_per_expert), pass);
  return exchange_rows(select_rows(results, rows.inverse_order), rows.receive, rows.send, ranks, "rows from experts");
}

/// Returns the router's input.
at::Tensor normalise_router_input(const Experts& experts, const LayerWeights& weights, const at::Tensor& x,
                                  double eps) {
  if (experts.router_scale.name.empty()) return x;
  const at::Tensor normed = rms_norm(x, at::ones({x.size(1)}, x.options()), eps);
  return normed * weights[experts.router_scale] / std::sqrt(static_cast<double>(x.size(1)));
}

at::Tensor run_shared_expert(const Experts& experts, const LayerWeights& weights, const at::Tensor& x) {
  const GatedMlp& mlp = *experts.shared;
  const at::Tensor gated = activate(mlp.activation, product(weights[mlp.gate], x), product(weights[mlp.up], x));
  const at::Tensor result = product(weights[mlp.down], gated);
  if (experts.shared_gate.outputs == 0) return result;
  return at::sigmoid(product(weights[experts.shared_gate], x)) * result;
}

/// Returns the indices of the largest elements per row: [T, N] -> [T, kept], largest first; ties: lower index first.
at::Tensor largest_indices(const at::Tensor& rows, int64_t kept) {
  return at::argsort(rows, /*stable=*/true, /*dim=*/1, /*descending=*/true).narrow(1, 0, kept).contiguous();
}

/// Returns [T, N] with -infinity for experts outside the best groups.
at::Tensor mask_other_groups(const at::Tensor& compared, const RoutingRule& rule) {
  const at::Tensor groups = compared.unflatten(1, {rule.groups, rule.group_size()});
  const at::Tensor sums = std::get<0>(groups.topk(rule.ranks_by_largest ? 1 : 2, 2)).sum(2);
  const at::Tensor is_left_out =
      at::ones_like(sums, at::kBool).scatter(1, largest_indices(sums, rule.chosen_groups), false);
  return groups.masked_fill(is_left_out.unsqueeze(2), -std::numeric_limits<double>::infinity()).flatten(1);
}

}  // namespace

std::function<at::Tensor()> empty_pass(const Backbone& backbone, const Recomputation& recompute, bool is_waited_for,
                                       bool trains_mtp) {
  if (backbone.parallel().ep_size() == 1 && !is_waited_for) return {};
  return [&backbone, recompute, trains_mtp] {
    const at::Device device = backbone.device().is_meta() ? at::kCPU : backbone.device();  // like all micro-batches
    const TokenLayout layout = lay_out(pack_tokens({{0}}, device), backbone.parallel());
    at::Tensor hidden = backbone.forward(layout, recompute);
    if (trains_mtp && hidden.defined()) hidden = hidden + backbone.look_ahead(hidden, layout.ids, layout, recompute);
    return hidden.defined() ? numbers_or_zeros(hidden.narrow(0, 0, 0).sum()) : hidden;
  };
}

Routing route(at::Tensor logits, const RoutingRule& rule, const at::Tensor& bias, const at::Tensor& replayed,
              RouterTraining* training, int64_t number) {
  const auto probabilities = [&] { return rule.is_sigmoid ? at::sigmoid(logits) : at::softmax(logits, 1); };
  at::Tensor compared = probabilities().detach();
  if (bias.defined()) compared = compared + bias;
  if (rule.chosen_groups < rule.groups) compared = mask_other_groups(compared, rule);
  const at::Tensor router_choice = largest_indices(compared, rule.chosen);
  Routing routing{.experts = router_choice, .weights = {}};
  if (replayed.defined()) routing.experts = at::where(replayed.ge(0), replayed.to(at::kLong), router_choice);
  if (training) logits = training->train(logits, routing.experts, router_choice, replayed, number, rule.is_sigmoid);
  routing.weights = probabilities().gather(1, routing.experts);
  if (rule.renormalises) {
    const at::Tensor sum = routing.weights.sum(1, /*keepdim=*/true);
    routing.weights = routing.weights / (rule.is_sigmoid ? sum + kLeastSum : sum);
  }
  if (rule.scale != 1) routing.weights = routing.weights * rule.scale;
  return routing;
}

at::Tensor mix_experts(const Experts& experts, const LayerWeights& weights, const at::Tensor& x,
                       const ExpertPass& pass) {
  const at::ScalarType wide = wide_dtype(x);
  const at::Tensor &router = weights[experts.router].weight, &router_bias = weights[experts.router].bias;
  const at::Tensor router_x =
      normalise_router_input(experts, weights, pass.router_input.defined() ? pass.router_input : x, pass.eps);
  at::Tensor logits =
      wide == x.scalar_type() ? accumulating_linear(router_x, router) : at::linear(router_x.to(wide), router.to(wide));
  if (router_bias.defined()) logits = logits + router_bias.to(wide);
  const int64_t chosen = experts.routing.chosen;
  const auto select_own = [&](const at::Tensor& all) {
    return all.defined() ? all.narrow(1, experts.number * chosen, chosen) : at::Tensor();
  };
  const at::Tensor bias = experts.bias.name.empty() ? at::Tensor() : weights[experts.bias];
  Routing routing =
      route(logits, experts.routing, bias, select_own(pass.routed.replayed), pass.routers, experts.number);
  if (!experts.expert_scales.name.empty()) {
    const at::Tensor scales = weights[experts.expert_scales].to(wide);
    routing.weights = routing.weights * scales.index_select(0, routing.experts.flatten()).view_as(routing.weights);
  }
  if (pass.routed.recorded.defined()) select_own(pass.routed.recorded).copy_(routing.experts);
  const SortedRows rows = sort_rows(routing.experts, experts.routing.count);
  const at::Tensor spread = spread_rows(x, rows);
  at::Tensor shared_result;
  const auto run_shared = [&] {
    if (experts.shared) shared_result = run_shared_expert(experts, weights, x);
  };
  if (!pass.ranks) run_shared();
  const at::Tensor results = pass.ranks
                                 ? run_everywhere(experts, weights, spread, rows.groups.counts(), pass, run_shared)
                                 : run_experts(experts, weights, spread, rows.groups, 0, pass);
  const at::Tensor sum = combine_rows(results, routing.weights, rows);
  return shared_result.defined() ? sum + shared_result : sum;
}

}  // namespace roll
