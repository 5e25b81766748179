// Interface through which a training forward announces the layers that it computes, for weights that are not always on
// this rank: optim/gathered_layers.h gathers them from other ranks in enter() and frees them afterwards.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace roll {

class LayerStore {
 public:
  using Weights = std::vector<at::Tensor>;  // all weights of one or more layers, as leaf tensors

  enum class Pass {
    kForward,   // a forward without gradients: leave() is called after it
    kKept,      // a forward whose backward comes later, without another call: leave() is not called
    kBackward,  // a forward recomputed in backward and differentiated right after it: leave() is not called
  };

  virtual ~LayerStore() = default;
  /// Makes `weights` usable; the caller then computes the layers that have them. `next`: weights of the layer that is
  /// computed after these (in backward the one before), which may be fetched ahead; empty at the end.
  virtual void enter(const Weights& weights, const Weights& next, Pass pass) = 0;
  /// The layers with `weights` are computed; the weights may be freed.
  virtual void leave(const Weights& weights) = 0;
};

}  // namespace roll
