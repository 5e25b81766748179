// Interface by which a training forward gets its layers' weights if they are not always on this rank
// (optim/gathered_layers.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace roll {

class LayerStore {
 public:
  using Weights = std::vector<at::Tensor>;  // leaf tensors of one or more layers

  enum class Pass {
    kForward,   // no gradients: leave() follows
    kKept,      // backward comes later, without another call
    kBackward,  // a recomputed forward, differentiated right after
  };

  virtual ~LayerStore() = default;
  /// Must be called before the layers with `weights` are computed; the layers with `next` follow them.
  virtual void enter(const Weights& weights, const Weights& next, Pass pass) = 0;
  virtual void leave(const Weights& weights) = 0;
};

}  // namespace roll
