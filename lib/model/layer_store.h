// Where a training forward finds the weights of its layers, if they are not always here.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace roll {

class LayerStore {
 public:
  using Weights = std::vector<at::Tensor>;  // leaf tensors of some layers

  enum class Pass {
    kForward,   // nothing is differentiated: leave() follows
    kKept,      // backward comes later, without another word
    kBackward,  // a forward that is computed again, and differentiated right behind it
  };

  virtual ~LayerStore() = default;
  /// Before layers with `weights` are computed; those of `next` are wanted after them.
  virtual void enter(const Weights& weights, const Weights& next, Pass pass) = 0;
  virtual void leave(const Weights& weights) = 0;

  /// Of forwards that this thread begins; null: weights are always here.
  static LayerStore* current();

  class Guard {
   public:
    explicit Guard(LayerStore* store);
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    LayerStore* before_;
  };
};

}  // namespace roll
