// Computes layers with LibTorch's operators, differentiably and on any device, for training, log-probs and
// decode/tensor_decoder.h. Each kind of mixer (layer.h) has its mix() in mixers.cpp.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "model/backbone.h"
#include "ops/layer_ops.h"

namespace roll {

/// Attends: q, k, v -> output of the heads, [T, H, D]. Training and sampling pass different ones.
using Attend = std::function<at::Tensor(const Attention& attention, const at::Tensor& q, const at::Tensor& k,
                                        const at::Tensor& v)>;

/// Runs a delta net: returns the output of its heads, [T, value heads, D].
using Recur = std::function<at::Tensor(const DeltaHeads& heads, const DeltaRows& rows)>;

/// A RoPE at the pass's positions, and an extra factor of queries.
struct HeadRotation {
  Rotation rotation;
  at::Tensor growth{};  // [T, 1, 1] float32; undefined: 1
};

/// Experts of a pass's tokens, [T, choices_per_token()] int16, mixture after mixture; undefined: not wanted.
struct RoutedExperts {
  at::Tensor replayed;  // experts to use again; -1: the router's choice
  at::Tensor recorded;  // output: experts that were used
};

/// Context that all layers of one forward pass share.
struct LayerPass {
  double eps = 0;                            // epsilon of norms
  std::vector<HeadRotation> head_rotations;  // by RotaryRule::rope
  Attend attend;
  Recur recur;
  ParallelFlow flow;
  Communicator* tp = nullptr;               // ranks that share the heads; null: none
  const LayerLauncher* launcher = nullptr;  // null: LibTorch's or the CPU's operators between products
  Communicator* experts = nullptr;          // ranks that share experts; null: none
  std::shared_ptr<RouterTraining> routers{};
  RoutedExperts routed{};
  at::Tensor dropout_keys{};    // for adapters that are trained with dropout
  LayerStore* store = nullptr;  // null: all weights are on this rank

  /// Returns the dropout keys of x's tokens: of all tokens, or of this tensor rank's.
  at::Tensor local_dropout_keys(const at::Tensor& x) const;
};

/// Keys and values, [T, Hkv, D] each.
struct KeysAndValues {
  at::Tensor keys, values;
};

/// Tensors given to layers beside x.
struct Carried {
  at::Tensor inputs{};                   // [rank's tokens, layers from `first` on, width] for LayerInput
  std::array<KeysAndValues, 2> heads{};  // shared ones, by Attention::shared; undefined: not made yet
  int64_t first = 0;

  /// Pointers to the defined tensors.
  std::vector<at::Tensor*> tensor_pointers();
};

/// True if a GPU's kernels support all that the layer does between its products; if not, LibTorch's operators compute
/// it.
bool has_layer_kernels(const Layer& layer);

/// Returns x [rank's tokens, E] after the layer's blocks.
at::Tensor run_layer(const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass, Carried& carried);
/// Runs a layer that shares no tensors with others.
at::Tensor run_layer(const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass);

}  // namespace roll
