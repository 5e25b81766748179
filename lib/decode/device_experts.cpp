#include "decode/device_experts.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "decode/rows.h"
#include "model/backbone.h"
#include "model/mixture.h"

namespace roll {

namespace {

/// Returns the weight, or a copy if the kernels could not read vectors of 16 bytes there.
at::Tensor readable(const Linear& linear) {
  const at::Tensor weight = plain(linear.weight);
  return reinterpret_cast<uintptr_t>(weight.const_data_ptr()) % 16 == 0 ? weight : weight.clone();
}

}  // namespace

ExpertRule expert_rule(const RoutingRule& rule) {
  return {.count = static_cast<int32_t>(rule.count),
          .chosen = static_cast<int32_t>(rule.chosen),
          .groups = static_cast<int32_t>(rule.groups),
          .chosen_groups = static_cast<int32_t>(rule.chosen_groups),
          .scale = static_cast<float>(rule.scale),
          .least_sum = rule.is_sigmoid ? static_cast<float>(kLeastSum) : 0,
          .is_sigmoid = rule.is_sigmoid,
          .renormalises = rule.renormalises,
          .ranks_by_largest = rule.ranks_by_largest};
}

template <class T>
DeviceExperts<T>::DeviceExperts(const Transformer& model, const MixtureWidths& widths, const DecoderSizes& sizes,
                                KernelLauncher& launcher)
    : launcher_(launcher), device_(model.device()), hidden_(model.spec().hidden_size), page_size_(sizes.page_size) {
  if (widths.chosen == 0) return;
  const auto options = at::TensorOptions().device(device_);
  const int64_t choices = sizes.max_rows * widths.chosen;
  const auto memory = [&](at::IntArrayRef shape, at::ScalarType dtype) {
    return launcher.empty(shape, options.dtype(dtype));
  };
  logits_ = memory({sizes.max_rows, widths.routed}, at::kFloat);
  choices_ = memory({choices}, at::kInt);
  weights_ = memory({choices}, at::kFloat);
  entries_ = memory({choices}, at::kInt);
  sources_ = memory({choices}, at::kInt);
  tiles_ = memory({widths.most_tiles(sizes.max_rows) * static_cast<int64_t>(sizeof(ExpertTile))}, at::kByte);
  gated_ = memory({choices, widths.inner}, kScalarType<T>);
  results_ = memory({choices, hidden_}, at::kFloat);
  if (sizes.records_experts)
    record_ = at::zeros({sizes.num_pages, sizes.page_size, choices_per_token(model.spec())}, options.dtype(at::kShort));
}

template <class T>
DeviceMixture DeviceExperts<T>::make_mixture(const Experts& experts, const LayerWeights& weights) const {
  DeviceMixture mixture{.rule = expert_rule(experts.routing),
                        .first = experts.number * experts.routing.chosen,
                        .router = plain(weights[experts.router].weight),
                        .bias = {},
                        .matrices = {},
                        .owned = {}};
  if (experts.shared_gate.outputs > 0)
    mixture.router = at::cat({mixture.router, plain(weights[experts.shared_gate].weight)});
  if (!experts.bias.name.empty()) mixture.bias = plain(weights[experts.bias].to(at::kFloat));
  const int64_t count = experts.routing.count;
  const auto* const parts = weights.from(experts.parts->linears.front());
  const at::Tensor addresses = at::empty({3, count}, at::kLong);
  auto* const address = addresses.mutable_data_ptr<int64_t>();
  const auto add = [&](int64_t part, int64_t expert, const Linear& linear) {
    mixture.owned.push_back(readable(linear));
    address[part * count + expert] = reinterpret_cast<int64_t>(mixture.owned.back().const_data_ptr());
  };
  for (int64_t e = 0; e < count; ++e) {
    add(0, e, parts[2 * e].second);
    add(1, e, parts[2 * e + 1].second);
    add(2, e, parts[2 * count + e].second);
  }
  mixture.inner = mixture.owned.front().size(0);
  mixture.matrices = addresses.to(device_);
  return mixture;
}

template <class T>
void DeviceExperts<T>::mix(const DeviceMixture& mixture, const MixedRows& rows, const at::Tensor& tables,
                           const at::Tensor& sums) {
  const int64_t routed = mixture.router.size(0), chosen = mixture.rule.chosen;
  launcher_.multiply(dense_rows(logits_, rows.count, routed), rows.input, mixture.router);
  launch(ChooseExperts{.logits = tensor_data<float>(logits_),
                       .bias = tensor_data<float>(mixture.bias),
                       .rows = rows.rows,
                       .choices = tensor_data<int32_t>(choices_),
                       .weights = tensor_data<float>(weights_),
                       .records = {.experts = tensor_data<int16_t>(record_),
                                   .tables = tensor_data<int32_t>(tables),
                                   .table_width = static_cast<int32_t>(tables.size(1)),
                                   .page_size = static_cast<int32_t>(page_size_),
                                   .width = static_cast<int32_t>(record_.defined() ? record_.size(2) : 0),
                                   .first = static_cast<int32_t>(mixture.first)},
                       .rule = mixture.rule,
                       .num_rows = rows.count,
                       .stride = routed});
  // Tiles are small while experts have few rows each. A row's bits do not depend on the size.
  if (long{rows.count} * chosen <= long{kSmallTile} * mixture.rule.count)
    multiply<kSmallTile>(mixture, rows);
  else
    multiply<kLargeTile>(mixture, rows);
  launch(CombineExperts{
      .results = tensor_data<float>(results_),
      .entries = tensor_data<int32_t>(entries_),
      .weights = tensor_data<float>(weights_),
      .shared_result = tensor_data<float>(rows.shared),
      .shared_gate = routed > mixture.rule.count ? tensor_data<float>(logits_) + mixture.rule.count : nullptr,
      .rows = rows.rows,
      .sums = tensor_data<float>(sums),
      .num_rows = rows.count,
      .hidden = hidden_,
      .chosen = chosen,
      .gate_stride = routed});
}

template <class T>
template <int kRows>
void DeviceExperts<T>::multiply(const DeviceMixture& mixture, const MixedRows& rows) {
  const int64_t experts = mixture.rule.count, chosen = mixture.rule.chosen;
  const int64_t max_tiles = SortChoices::most_tiles(rows.count * chosen, experts, kRows);
  launch(SortChoices{.choices = tensor_data<int32_t>(choices_),
                     .entries = tensor_data<int32_t>(entries_),
                     .sources = tensor_data<int32_t>(sources_),
                     .tiles = tensor_data<ExpertTile>(tiles_),
                     .num_rows = rows.count,
                     .chosen = chosen,
                     .tile_rows = kRows,
                     .max_tiles = max_tiles});
  const auto* const matrices = tensor_data<const T* const>(mixture.matrices);
  launch(MultiplyGroups<T, kRows>{.x = tensor_data<T>(rows.input),
                                  .sources = tensor_data<int32_t>(sources_),
                                  .first = matrices,
                                  .second = matrices + experts,
                                  .tiles = tensor_data<ExpertTile>(tiles_),
                                  .gated = tensor_data<T>(gated_),
                                  .inputs = hidden_,
                                  .outputs = mixture.inner,
                                  .max_tiles = max_tiles});
  launch(MultiplyGroups<T, kRows>{.x = tensor_data<T>(gated_),
                                  .first = matrices + 2 * experts,
                                  .tiles = tensor_data<ExpertTile>(tiles_),
                                  .results = tensor_data<float>(results_),
                                  .inputs = mixture.inner,
                                  .outputs = hidden_,
                                  .max_tiles = max_tiles});
}

template class DeviceExperts<float>;
template class DeviceExperts<Bf16>;
template class DeviceExperts<Fp16>;

}  // namespace roll
