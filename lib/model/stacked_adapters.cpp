#include "model/stacked_adapters.h"

#include <ATen/ATen.h>

#include <set>
#include <unordered_map>

#include "base/error.h"
#include "model/weights.h"

namespace roll {

namespace {

/// A layer's experts: full name of their module, and names of their products.
struct ExpertModule {
  std::string name, prefix;
  const ExpertParts* parts = nullptr;
  int64_t count = 0, inner = 0;

  std::string product(int64_t expert, size_t product_index) const {
    return prefix + parts->names[expert][product_index];
  }
};

/// PEFT's name for the adapters of one of the module's two weights; indices of an expert's products in it.
struct StackedPair {
  std::string name;
  std::vector<size_t> products;
};

/// Returns both pairs: PEFT wraps the first weight, then the second around it.
std::vector<StackedPair> stacked_pairs(const ExpertModule& module) {
  return {{module.name + ".base_layer", {0, 1}}, {module.name, {2}}};
}

/// Calls f(module) for each layer with experts; the parts live as long as the call.
template <class F>
void for_each_module(const ModelSpec& spec, const F& f) {
  const std::vector<Layer> layers = spec.layers();
  const auto visit = [&](const Experts& experts, size_t layer) {
    const std::string prefix = layer_prefix(spec, layer), &whole = experts.parts->names.back()[0];
    f(ExpertModule{prefix + whole.substr(0, whole.rfind('.')), prefix, experts.parts.get(), experts.routing.count,
                   experts.inner});
  };
  for (size_t i = 0; i < layers.size(); ++i)
    for (const Block& block : layers[i]) {
      if (const auto* experts = std::get_if<Experts>(&block.mixer)) visit(*experts, i);
      if (const auto* both = std::get_if<MlpBesideExperts>(&block.mixer)) visit(both->experts, i);
    }
}

}  // namespace

NamedTensors stacked_adapters(const ModelSpec& spec, const NamedTensors& tensors) {
  std::unordered_map<std::string_view, at::Tensor> all;
  for (const auto& [name, tensor] : tensors) all.emplace(name, tensor);
  std::set<std::string> replaced;
  NamedTensors stacked;
  const auto take = [&](const std::string& name) {
    replaced.insert(name);
    const auto found = all.find(name);
    return found == all.end() ? at::Tensor() : found->second;
  };
  for_each_module(spec, [&](const ExpertModule& module) {
    for (const StackedPair& pair : stacked_pairs(module)) {
      std::vector<at::Tensor> a, b;
      for (int64_t e = 0; e < module.count; ++e) {
        std::vector<at::Tensor> expert_a, expert_b;
        for (const size_t product_index : pair.products) {
          expert_a.push_back(take(module.product(e, product_index) + kLoraA));
          expert_b.push_back(take(module.product(e, product_index) + kLoraB));
        }
        if (!expert_a.front().defined()) break;  // this weight has no adapters
        a.push_back(at::cat(expert_a));
        b.push_back(at::block_diag(expert_b));
      }
      if (a.empty()) continue;
      stacked.emplace_back(pair.name + kLoraA, at::cat(a));
      stacked.emplace_back(pair.name + kLoraB, at::stack(b, 2).flatten(1));
    }
  });
  NamedTensors list;
  for (const auto& named : tensors)
    if (!replaced.contains(named.first)) list.push_back(named);
  list.insert(list.end(), stacked.begin(), stacked.end());
  return list;
}

}  // namespace roll
