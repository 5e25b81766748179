#include "model/run_units.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "dist/parallel_ops.h"
#include "model/layer_store.h"
#include "ops/recompute.h"

namespace roll {

namespace {

using Weights = LayerStore::Weights;
using RunLayers = std::function<at::Tensor(at::Tensor x, Carried& carried)>;

/// Returns the weights of layers [first, first + size), clipped to existing layers.
Weights collect_weights(std::span<const LayerWeights> layers, int64_t first, int64_t size) {
  Weights weights;
  for (int64_t i = std::max<int64_t>(0, first); i < std::min(first + size, std::ssize(layers)); ++i)
    std::ranges::move(layers[i].all(), std::back_inserter(weights));
  return weights;
}

/// Announces units to the layer store, in the order in which they are computed. Without a store it does nothing.
class StoredUnits {
 public:
  StoredUnits(LayerStore* store, std::span<const LayerWeights> layers, std::span<const LayerUnit> units)
      : store_(store) {
    if (store)
      for (const auto& [first, size, is_recomputed] : units)
        units_.push_back({collect_weights(layers, first, size), collect_weights(layers, first - 1, 1),
                          collect_weights(layers, first + size, 1)});
  }

  void enter(LayerStore::Pass pass) const {
    if (pass == LayerStore::Pass::kBackward)
      std::for_each(units_.rbegin(), units_.rend(),
                    [&](const Unit& unit) { store_->enter(unit.weights, unit.before, pass); });
    else
      for (const Unit& unit : units_) store_->enter(unit.weights, unit.behind, pass);
  }
  void leave(LayerStore::Pass pass) const {
    if (pass != LayerStore::Pass::kForward) return;
    for (const Unit& unit : units_) store_->leave(unit.weights);
  }

 private:
  struct Unit {
    Weights weights, before, behind;  // the unit's, and those of its neighbouring layers
  };
  LayerStore* store_;
  std::vector<Unit> units_;
};

LayerStore::Pass store_pass(bool is_recomputed) {
  if (!is_recomputed) return LayerStore::Pass::kKept;
  return at::GradMode::is_enabled() ? LayerStore::Pass::kBackward : LayerStore::Pass::kForward;
}

/// Runs a unit without keeping what its backward needs; `carried` goes in and out as tensors.
at::Tensor run_recomputed(const RunLayers& run, const std::vector<LayerWeights>& unit, const Weights& weights,
                          const at::Tensor& x, Carried& carried) {
  const std::vector<size_t> made_heads = shared_by(unit);
  const auto block = [run, made_heads, initial_carried = carried](const std::vector<at::Tensor>& inputs) {
    Carried beside = initial_carried;
    for (size_t i = 1; at::Tensor * tensor : beside.tensor_pointers()) *tensor = inputs[i++];
    std::vector<at::Tensor> outputs = {run(inputs.front(), beside)};
    for (const size_t i : made_heads) outputs.insert(outputs.end(), {beside.heads[i].keys, beside.heads[i].values});
    return outputs;
  };
  std::vector<at::Tensor> inputs = {x};
  for (const at::Tensor* tensor : carried.tensor_pointers()) inputs.push_back(*tensor);
  const std::vector<at::Tensor> outputs = recomputed(block, inputs, weights);
  for (size_t i = 0; i < made_heads.size(); ++i)
    carried.heads[made_heads[i]] = {outputs[1 + 2 * i], outputs[2 + 2 * i]};
  return outputs.front();
}

/// Runs the first of `units`, and tells the layer store about every unit.
at::Tensor run_unit(std::span<const LayerWeights> layers, std::span<const LayerUnit> units, const at::Tensor& x,
                    const std::shared_ptr<const LayerPass>& pass, Carried& carried) {
  const LayerUnit& unit = units.front();
  const auto first = layers.begin() + unit.first;
  const auto unit_layers = std::make_shared<const std::vector<LayerWeights>>(first, first + unit.size);
  const RunLayers run = [=, stored = StoredUnits(pass->store, layers, units), again = unit.is_recomputed](
                            at::Tensor input, Carried& beside) {
    const LayerStore::Pass kind = store_pass(again);
    stored.enter(kind);
    for (const LayerWeights& layer : *unit_layers) input = run_layer(layer, input, *pass, beside);
    stored.leave(kind);
    return input;
  };
  if (!unit.is_recomputed) return run(x, carried);
  return run_recomputed(run, *unit_layers, collect_weights(layers, unit.first, unit.size), x, carried);
}

/// True if all layers have weights of the same shapes and train the same ones.
bool are_alike(std::span<const LayerWeights> layers) {
  const auto same = [](const at::Tensor& a, const at::Tensor& b) {
    return a.sizes() == b.sizes() && a.requires_grad() == b.requires_grad();
  };
  const Weights last = layers.empty() ? Weights() : layers.back().all();
  return std::ranges::all_of(layers, [&](const auto& layer) { return std::ranges::equal(layer.all(), last, same); });
}

/// Counts the leading units that equal the first one in size and recomputation.
int64_t count_alike(std::span<const LayerUnit> units) {
  const auto other = std::ranges::find_if(units, [&](const LayerUnit& unit) {
    return unit.size != units.front().size || unit.is_recomputed != units.front().is_recomputed;
  });
  return other - units.begin();
}

at::Tensor count_times(at::Tensor x, const ModelParallel& parallel, int64_t times, int64_t times_in_backward) {
  if (at::GradMode::is_enabled() && !x.requires_grad()) x = x.detach().requires_grad_(true);  // backward must run, too
  for (Communicator* ranks : {parallel.tp, parallel.cp, parallel.ep})
    if (ranks) x = roll::count_times(x, *ranks, times, times_in_backward);
  return x;
}

/// Runs units without data: the first of several equal units stands for the others.
at::Tensor run_planned_units(std::span<const LayerWeights> layers, std::span<const LayerUnit> units, at::Tensor x,
                             const std::shared_ptr<const LayerPass>& pass, Carried& carried,
                             const ModelParallel& parallel) {
  const bool one_stands_for_all = are_alike(layers) && shared_by(layers).empty();
  int64_t before = 1;
  while (!units.empty()) {
    const int64_t times = one_stands_for_all ? count_alike(units) : 1;
    x = run_unit(layers, units.first(times), count_times(x, parallel, times, before), pass, carried);
    before = times;
    units = units.subspan(times);
  }
  return count_times(x, parallel, 1, before);
}

}  // namespace

at::Tensor run_units(std::span<const LayerWeights> layers, const std::vector<LayerUnit>& units, at::Tensor x,
                     const std::shared_ptr<const LayerPass>& pass, Carried& carried, const ModelParallel& parallel) {
  if (x.is_meta()) return run_planned_units(layers, units, x, pass, carried, parallel);
  for (const LayerUnit& unit : units) x = run_unit(layers, {&unit, 1}, x, pass, carried);
  return x;
}

}  // namespace roll
