// Computes layers with LibTorch's operators, differentiably and on any device: for training, log-probs and the
// sampler's decode/tensor_decoder.h. Each kind of mixer (layer.h) has a function mix() in mixers.cpp.
// Legend: T tokens of the pass, E hidden size, H query heads and Hkv key/value heads on this tensor rank, D head size.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "model/backbone.h"
#include "ops/layer_ops.h"

namespace roll {

/// Computes attention: q [T, H, D], k and v [T, Hkv, D] -> output of the heads, [T, H, D]. In training k and v are all
/// keys and values; in sampling, the new tokens' ones, which the function adds to the KV cache.
using Attend = std::function<at::Tensor(const Attention& attention, const at::Tensor& q, const at::Tensor& k,
                                        const at::Tensor& v)>;

/// Computes the recurrence of a delta net (ops/delta_rule.h): returns the heads' output, [T, value heads, value dim].
using Recur = std::function<at::Tensor(const DeltaHeads& heads, const DeltaRows& rows)>;

/// One of the model's RoPEs at the pass's positions, and an additional factor of queries.
struct HeadRotation {
  Rotation rotation;
  at::Tensor growth{};  // [T, 1, 1] float32; undefined: 1
};

/// Experts of the pass's tokens: [T, choices_per_token()] int16 each, with the choices of each mixture of the model,
/// one mixture after another. Undefined: nothing is replayed, or nothing is recorded.
struct RoutedExperts {
  at::Tensor replayed;  // experts to use instead of the router's choice; -1: use the router's choice
  at::Tensor recorded;  // output, written in place: experts that were used
};

/// Inputs, functions and ranks that all layers of one forward pass share.
struct LayerPass {
  double eps = 0;                            // epsilon of norms
  std::vector<HeadRotation> head_rotations;  // indexed by RotaryRule::rope
  Attend attend;
  Recur recur;  // null without delta nets
  ParallelFlow flow;
  Communicator* tp = nullptr;                 // ranks that share each weight matrix; null: this rank alone
  const LayerLauncher* launcher = nullptr;    // GPU kernels between matrix products; null: other operators
  Communicator* experts = nullptr;            // ranks that share the experts; null: all experts are here
  std::shared_ptr<RouterTraining> routers{};  // null: routers are not trained
  RoutedExperts routed{};
  at::Tensor dropout_keys{};    // [T] from dropout_keys(), for the dropout of adapters; undefined: no dropout
  LayerStore* store = nullptr;  // null: all weights are on this rank

  /// Returns the dropout keys of the rows of x: all T tokens, or the equal part that this tensor rank holds.
  at::Tensor local_dropout_keys(const at::Tensor& x) const;
};

/// Keys and values, [T, Hkv, D] each.
struct KeysAndValues {
  at::Tensor keys, values;
};

/// Tensors that layers get beside x: per-layer inputs, and keys and values that several layers share.
struct Carried {
  at::Tensor inputs{};                   // [tokens of this tensor rank, layers, width] for LayerInput
  std::array<KeysAndValues, 2> heads{};  // shared ones, indexed by Attention::shared; undefined: not computed yet
  int64_t first = 0;                     // number of the layer to which index 0 of `inputs` belongs

  /// Returns pointers to the defined tensors among `inputs` and `heads`, in that order.
  std::vector<at::Tensor*> tensor_pointers();
};

/// True if our GPU kernels support all that the layer computes between its matrix products; otherwise run_layer() uses
/// LibTorch's operators.
bool has_layer_kernels(const Layer& layer);

/// Returns x after the layer's blocks: [tokens of this tensor rank, E] -> the same. Adds to `carried` the shared keys
/// and values that the layer computes. **Collective** over the ranks in `pass`.
at::Tensor run_layer(const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass, Carried& carried);
/// The same, for a layer that neither reads nor adds to Carried.
at::Tensor run_layer(const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass);

}  // namespace roll
