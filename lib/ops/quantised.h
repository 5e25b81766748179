// Weights quantised to 8 or 4 bits (QLoRA), and linear layers with them. Codes and dequantised weights equal those of
// bitsandbytes to the bit.
#pragma once

#include <ATen/core/Tensor.h>

#include "ops/quantisation.h"

namespace roll {

/// A quantised matrix [out, in].
struct QuantisedMatrix {
  Quantisation kind = Quantisation::kInt8;
  // kInt8: [out, in] int8. kNf4: [out, in / 2] uint8, two elements per byte, the first one in the high half.
  at::Tensor codes;
  // float32: largest absolute value of each block. kInt8: [out]; a block is a row. kNf4: [out, in / 64]; a block is 64
  // elements of a row. kNf4 if 64 does not divide `in`: [out * in / 64, rounded up]; a block is 64 elements of the
  // flattened matrix.
  at::Tensor scales;
  // kNf4: dtype of the checkpoint's weights before quantisation, to which dequantised elements are first rounded.
  at::ScalarType from = at::kFloat;
};

/// Returns the floating-point matrix [out, in] quantised, with `from` left at float32. Throws Bug for kNf4 with an odd
/// `in`.
QuantisedMatrix quantised(const at::Tensor& matrix, Quantisation kind);
/// Returns the values of nf4 codes 0 to 15: [16] float32.
at::Tensor nf4_values(at::Device device);
/// Returns the matrix [out, in] in `dtype`, without gradient. An element is the value of its code (kInt8: code / 127)
/// times its scale in float32, for kNf4 rounded to `from`, then rounded to `dtype`.
at::Tensor dequantised(const QuantisedMatrix& matrix, at::ScalarType dtype);

/// Returns x W^T: x [T, in] -> [T, out]. Forward and backward each dequantise W to x's dtype, and do not keep it.
/// Differentiable by x only.
at::Tensor quantised_linear(const at::Tensor& x, const QuantisedMatrix& matrix);

}  // namespace roll
