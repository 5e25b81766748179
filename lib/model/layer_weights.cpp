// Finds a layer's tensors by the parts of its description (LayerWeights in backbone.h).
#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"
#include "model/backbone.h"
#include "model/parameter_shards.h"

namespace roll {

namespace {

std::string_view first_norm(const Layer& layer) {
  const Block& first = layer.front();
  return first.norm.width > 0 ? first.norm.name : first.after.name;
}

}  // namespace

LayerWeights::LayerWeights(const Layer& layer, size_t index, const std::string& prefix,
                           const ParameterIndex& parameters, Communicator* tp, Communicator* ep)
    : layer_(layer) {
  const auto tensor = [&](std::string_view part, const char* end) {
    return parameters[prefix + std::string(part) + end];
  };
  uint32_t product = 0;  // selects dropout's mask; products fused in a folder share input and mask
  for_each_part(layer_, [&](const auto& part) {
    if constexpr (requires { part.expert; })
      if (ep && part.expert && part.expert->owner(ep->size()) != ep->rank()) {
        parts_.emplace_back(part.name, Linear());
        return;
      }
    constexpr bool is_product_or_norm = !requires {
      part.deviation;
    };
    Linear& linear =
        parts_.emplace_back(part.name, Linear{tensor(part.name, is_product_or_norm ? ".weight" : ""), {}}).second;
    if constexpr (requires { part.has_bias; }) {
      linear.dtype = tensor(first_norm(layer_), ".weight").scalar_type();
      if (part.quantised)
        linear.quantised =
            QuantisedMatrix{*part.quantised, linear.weight, tensor(part.name, ".weight.scales"), part.quantised_from};
      if (part.has_bias) linear.bias = tensor(part.name, ".bias");
      if (part.adapter.rank == 0) return;
      const bool cuts_columns = part.cut.dim == 1 && tp;
      if (part.fused.begin == 0) product = static_cast<uint32_t>(index << 8 | parts_.size());
      const DropoutRule dropout = {
          .rate = part.adapter.dropout,
          .product = product,
          .first_column = cuts_columns ? make_tensor_shard(part.cut, tp->rank(), tp->size()).begin : 0};
      linear.adapter = Adapter{.a = tensor(part.adapted_name(), kLoraA),
                               .b = tensor(part.name, kLoraB),
                               .magnitude = part.adapter.has_magnitude ? tensor(part.name, kMagnitude) : at::Tensor(),
                               .scale = part.adapter.scale,
                               .columns = cuts_columns ? tp : nullptr,
                               .dropout = dropout};
    }
  });
}

const std::pair<std::string_view, Linear>* LayerWeights::from(const LinearShape& first) const {
  const auto found = std::ranges::find(parts_, first.name, &std::pair<std::string_view, Linear>::first);
  ROLL_CHECK(found != parts_.end(), fmt::format("{} is a part of the layer", first.name));
  return &*found;
}

const Linear& LayerWeights::find(std::string_view name) const {
  return from(LinearShape{.name = name})->second;
}

const at::Tensor& LayerWeights::norm() const {
  return find(first_norm(layer_)).weight;
}

std::vector<at::Tensor> LayerWeights::all() const {
  std::vector<at::Tensor> defined;
  const auto add = [&](const at::Tensor& tensor) {
    if (tensor.defined() && tensor.is_floating_point()) defined.push_back(tensor);
  };
  at::Tensor last_a;
  for (const auto& [name, linear] : parts_) {
    add(linear.weight), add(linear.bias);
    if (!linear.adapter) continue;
    const Adapter& adapter = *linear.adapter;
    if (!adapter.a.is_same(last_a)) add(adapter.a);  // fused products are adjacent and share A
    add(adapter.b), add(adapter.magnitude);
    last_a = adapter.a;
  }
  return defined;
}

}  // namespace roll
