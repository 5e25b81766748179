#include "model/handover.h"

#include <algorithm>

#include "model/backbone.h"
#include "model/mixers.h"
#include "pipeline/stage.h"

namespace roll {

namespace {

template <class Kind, class F>
void for_each_mixer(const Layer& layer, const F& f) {
  for (const Block& block : layer)
    if (const auto* const mixer = std::get_if<Kind>(&block.mixer)) f(*mixer);
}

}  // namespace

Handover handover_before(const std::vector<Layer>& layers, int64_t first, int64_t tp) {
  Handover found{.first = first};
  std::array<Handover::Heads, 2> made{};
  for (int64_t i = 0; i < std::ssize(layers); ++i) {
    for_each_mixer<Attention>(layers[i], [&](const Attention& attention) {
      if (attention.shared < 0) return;
      const auto shared_index = static_cast<size_t>(attention.shared);
      if (attention.k.outputs > 0)
        made[shared_index] =
            i < first ? Handover::Heads{attention.kv_heads_per_rank(tp), attention.head_dim} : Handover::Heads();
      else if (i >= first)
        found.heads[shared_index] = made[shared_index];
    });
    for_each_mixer<LayerInput>(layers[i], [&](const LayerInput& input) {
      found.num_inputs += i >= first;
      found.width = input.gate.outputs;
    });
  }
  return found;
}

at::Tensor take_over(PipelineStage& stage, const Handover& handover, const HandedRows& rows,
                     const at::TensorOptions& options, Carried& carried) {
  const int64_t local_tokens = rows.tokens / rows.tp;
  std::vector<std::vector<int64_t>> sizes = {{local_tokens, rows.hidden}};
  if (handover.num_inputs > 0) sizes.push_back({local_tokens, handover.num_inputs, handover.width});
  for (const auto& [number, dim] : handover.heads)
    if (number > 0) sizes.insert(sizes.end(), 2, {rows.tokens, number, dim});
  const std::vector<at::Tensor> tensors = stage.receive(sizes, options);
  auto next = tensors.begin() + 1;
  carried.first = handover.first;
  if (handover.num_inputs > 0) carried.inputs = *next++;
  for (size_t i = 0; i < carried.heads.size(); ++i) {
    if (handover.heads[i].number == 0) continue;
    carried.heads[i].keys = *next++;
    carried.heads[i].values = *next++;
  }
  return tensors.front();
}

void hand_over(PipelineStage& stage, const Handover& handover, const at::Tensor& x, const Carried& carried) {
  std::vector<at::Tensor> tensors = {x};
  if (handover.num_inputs > 0)
    tensors.push_back(carried.inputs.narrow(1, handover.first - carried.first, handover.num_inputs));
  for (size_t i = 0; i < carried.heads.size(); ++i)
    if (handover.heads[i].number > 0) tensors.insert(tensors.end(), {carried.heads[i].keys, carried.heads[i].values});
  stage.send(tensors);
}

std::vector<size_t> shared_by(std::span<const LayerWeights> layers) {
  std::vector<size_t> made;
  for (const LayerWeights& layer : layers)
    for_each_mixer<Attention>(layer.layer(), [&](const Attention& attention) {
      if (attention.shared >= 0 && attention.k.outputs > 0) made.push_back(static_cast<size_t>(attention.shared));
    });
  return made;
}

}  // namespace roll
