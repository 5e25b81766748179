// The frequencies of a model's rotary position embedding.
#pragma once

#include <ATen/core/Tensor.h>

#include "model/spec.h"

namespace roll {

/// [D/2] float32: rope_theta^(-2i/D), scaled as Llama 3.1 does where the spec says so. Rounded as transformers rounds,
/// since an angle is position * frequency and a relative error of 1e-7 shows at position 1e4.
at::Tensor inverse_frequencies(const ModelSpec& spec);

}  // namespace roll
