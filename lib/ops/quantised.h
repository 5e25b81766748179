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
  // float32, largest absolute values. kInt8: [out], of each row. kNf4: [out, in / 64], of each 64 elements of a row; if
  // 64 does not divide `in`, [out * in / 64, rounded up], of each 64 elements of the flattened matrix.
  at::Tensor scales;
  at::ScalarType from = at::kFloat;  // kNf4: dtype before quantisation; dequantised elements are first rounded to it
};

/// Quantises a floating-point matrix [out, in]. Throws Bug for kNf4 with an odd `in`.
QuantisedMatrix quantised(const at::Tensor& matrix, Quantisation kind);
/// Returns the values of nf4 codes 0 to 15: [16] float32.
at::Tensor nf4_values(at::Device device);
/// Returns the matrix [out, in] in `dtype`: value of the code x scale in float32, for kNf4 rounded to `from`, then
/// rounded to `dtype`. No gradient.
at::Tensor dequantised(const QuantisedMatrix& matrix, at::ScalarType dtype);

/// Returns x W^T: x [T, in] -> [T, out]. W is dequantised to x's dtype, and again in backward, which gives only the
/// gradient of x.
at::Tensor quantised_linear(const at::Tensor& x, const QuantisedMatrix& matrix);

}  // namespace roll
