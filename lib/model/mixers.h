// The arithmetic of layers in LibTorch's operators, differentiable and on any device: what training, log-probs and
// decode/tensor_decoder.h compute. Each kind of mixer (layer.h) has its mix() in mixers.cpp.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "model/backbone.h"
#include "ops/layer_ops.h"

namespace roll {

/// q, k, v -> what the heads read, [T, H, D]; with it training, prefill and decoding differ.
using Attend = std::function<at::Tensor(const Attention& attention, const at::Tensor& q, const at::Tensor& k,
                                        const at::Tensor& v)>;

/// What the heads of a delta net read, [T, value heads, D].
using Recur = std::function<at::Tensor(const DeltaHeads& heads, const DeltaRows& rows)>;

/// A rotation of the model's, and what queries are multiplied by beside it.
struct HeadTurn {
  Rotation rotation;
  at::Tensor growth{};  // [T, 1, 1] float32; undefined: 1
};

/// The experts of a pass's tokens, [T, choices_per_token()] int16, mixture after mixture; undefined: nobody asks.
struct RoutedExperts {
  at::Tensor replayed;  // to be gone through again; -1: those that the router chooses
  at::Tensor recorded;  // to be filled in with those that were gone through
};

/// What all layers of one forward pass share.
struct LayerPass {
  double eps = 0;               // of norms
  std::vector<HeadTurn> turns;  // by Turning::rope
  Attend attend;
  Recur recur;
  ParallelFlow flow;
  Communicator* tp = nullptr;               // the ranks that share the heads; null: this one has all
  const LayerLauncher* launcher = nullptr;  // null: what stands between products is LibTorch's operators or the CPU's
  Communicator* experts = nullptr;          // ranks that share them; null: none
  std::shared_ptr<RouterTraining> routers{};
  RoutedExperts routed{};
  at::Tensor dropout_names{};  // of the tokens, where adapters are trained with dropout

  /// Those of the tokens of x, which are all tokens or this tensor rank's.
  at::Tensor names_of_own(const at::Tensor& x) const;
};

/// [T, Hkv, D] each.
struct KeysAndValues {
  at::Tensor keys, values;
};

/// What layers are given beside x.
struct Carried {
  at::Tensor inputs{};                   // [rank's tokens, layers from `first` on, width] of LayerInput
  std::array<KeysAndValues, 2> heads{};  // by Attention::shared; undefined: not made yet
  int64_t first = 0;

  /// Where what is there stands.
  std::vector<at::Tensor*> places();
};

/// Whether a GPU's kernels know all that the layer does between its products; LibTorch's operators compute it
/// elsewhere.
bool has_layer_kernels(const Layer& layer);

/// x [rank's tokens, E] behind the layer's blocks.
at::Tensor run_layer(const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass, Carried& carried);
/// Of a layer that shares nothing.
at::Tensor run_layer(const LayerWeights& layer, const at::Tensor& x, const LayerPass& pass);

}  // namespace roll
