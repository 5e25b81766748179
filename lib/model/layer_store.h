// Interface by which a training forward says which layers it computes next, for weights that are not always on this
// rank. optim/gathered_layers.h gathers them from other ranks in enter() and frees them in leave() or after backward.
// All ranks that share the weights must make the same calls in the same order.
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
  /// Lets the store free `weights`: no layer reads them until the next enter(). Called only after enter() with
  /// Pass::kForward.
  virtual void leave(const Weights& weights) = 0;
};

}  // namespace roll
