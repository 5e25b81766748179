// The floating-point operations of forward passes of one model, for many sequences: the layers are counted once.
#pragma once

#include "model/layer.h"
#include "model/spec.h"

namespace roll {

class ForwardFlops {
 public:
  explicit ForwardFlops(const ModelSpec& spec);

  /// See ModelSpec::forward_flops.
  double operator()(int64_t length, int64_t head_rows) const;

 private:
  LayerCost layers_;
  double head_row_ = 0;
};

}  // namespace roll
