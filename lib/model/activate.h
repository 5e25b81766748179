// Gated activations by kind, for the models' MLPs and experts.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/layer.h"
#include "ops/layer_ops.h"

namespace roll {

/// Returns activation(gate) * up, as the kind of activation says; differentiable. gate, up: [N, I].
inline at::Tensor activate(Activation activation, const at::Tensor& gate, const at::Tensor& up) {
  switch (activation) {
    case Activation::kGeluTanh:
      return geglu(gate, up);
    case Activation::kClampedSwiglu:
      return clamped_swiglu(gate, up);
    case Activation::kSilu:
      break;
  }
  return swiglu(gate, up);
}

}  // namespace roll
