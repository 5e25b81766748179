// Computes layers with LibTorch's operators, differentiably and on any device: for training, log-probs and the
// sampler's decode/tensor_decoder.h. Each kind of mixer (layer.h) has a function mix() in mixers.cpp.
// Legend: T tokens of the pass on this context rank, R tokens that this tensor rank holds between layers, E hidden
// size, H query heads and Hkv key/value heads on this tensor rank, D head size. In training R is T / tp, and each
// tensor rank holds consecutive tokens. In sampling R is T.
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
/// keys and values; in sampling, the new tokens' ones, which the function adds to the KV cache. sinks [H], or
/// undefined: Attention::sinks.
using Attend = std::function<at::Tensor(const Attention& attention, const at::Tensor& q, const at::Tensor& k,
                                        const at::Tensor& v, const at::Tensor& sinks)>;

/// Computes the recurrence of a delta net (ops/delta_rule.h): returns the heads' output, [T, value heads, value dim].
using Recur = std::function<at::Tensor(const DeltaHeads& heads, const DeltaRows& rows)>;

/// One of the model's RoPEs at the positions of the pass's tokens, and a scale of the queries that it rotates.
struct HeadRotation {
  Rotation rotation;
  at::Tensor query_scale{};  // [T, 1, 1] float32: factor of rotated queries (query_growth() in rope.h); undefined: 1
};

/// Expert indices of the pass's tokens: [T, choices_per_token()] int16 each (mixture.h). A token's row lists
/// the experts that it uses in the first MoE layer of the model, then those in the second, and so on.
struct RoutedExperts {
  at::Tensor replayed;  // input: experts to use; -1: the router chooses; undefined: it chooses everywhere
  at::Tensor recorded;  // output, written in place: experts that were used; undefined: not recorded
};

/// Inputs, functions and ranks that all layers of one forward pass share.
struct LayerPass {
  double eps = 0;                            // epsilon of norms
  std::vector<HeadRotation> head_rotations;  // indexed by RotaryRule::rope
  Attend attend;
  bool is_cached = false;  // attend() keeps keys and values for later tokens: latent attention then gives it latents
  Recur recur;             // null without delta nets
  ParallelFlow flow;       // collectives over `tp` before and after matrices that its ranks share (backbone.h)
  Communicator* tp = nullptr;                 // ranks that share each weight matrix; null: this rank alone
  const LayerLauncher* launcher = nullptr;    // GPU kernels between matrix products; null: layer_ops.h and LibTorch
  Communicator* experts = nullptr;            // ranks that share the experts; null: all experts are here
  std::shared_ptr<RouterTraining> routers{};  // null: routers are not trained
  RoutedExperts routed{};
  at::Tensor dropout_keys{};    // [T] from dropout_keys(), for the dropout of adapters; undefined: no dropout
  LayerStore* store = nullptr;  // null: all weights are on this rank

  /// Returns the dropout keys of the rows of x, which are all T tokens or the R tokens of this tensor rank.
  at::Tensor local_dropout_keys(const at::Tensor& x) const;
};

/// Keys and values, [T, Hkv, D] each.
struct KeysAndValues {
  at::Tensor keys, values;
};

/// Tensors that layers get beside x: per-layer inputs, and keys and values that several layers share.
struct Carried {
  at::Tensor inputs{};                   // [R, layers, width] for LayerInput; undefined if the model has none
  std::array<KeysAndValues, 2> heads{};  // shared ones, indexed by Attention::shared; undefined: not computed yet
  int64_t first = 0;                     // number of the layer to which index 0 of `inputs` belongs

  /// Returns pointers to the defined tensors among `inputs` and `heads`, in that order.
  std::vector<at::Tensor*> tensor_pointers();
};

/// True if our GPU kernels support all that the layer computes between its matrix products; otherwise run_layer() uses
/// LibTorch's operators.
bool has_layer_kernels(const Layer& layer);

/// Returns x after the layer's blocks: [R, E] -> [R, E]. Adds to `carried` the shared keys and values that the layer
/// computes. **Collective** over the ranks in `pass`.
at::Tensor run_layer(const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass, Carried& carried);
/// The same, for a layer that neither reads nor adds to Carried.
at::Tensor run_layer(const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass);

}  // namespace roll
