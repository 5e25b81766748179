// Weights quantised to 8 or 4 bits (QLoRA), and linear layers with them. Codes and dequantised weights equal those of
// bitsandbytes to the bit.
#pragma once

#include <ATen/core/Tensor.h>

#include "ops/quantisation.h"

namespace roll {

/// A quantised matrix [out, in]. int8: codes [out, in] int8; scales [out], each row's largest absolute value. nf4:
/// codes [out, in / 2] uint8, the first of two elements in the high half; scales [out, in / 64], or [numel / 64]
/// rounded up if 64 does not divide `in`. Scales are float32.
struct QuantisedMatrix {
  Quantisation kind = Quantisation::kInt8;
  at::Tensor codes, scales;
  at::ScalarType from = at::kFloat;  // nf4 only: dequantised elements are rounded to it first
};

/// Returns the quantised floating-point matrix. Bug: nf4 with an odd number of inputs.
QuantisedMatrix quantised(const at::Tensor& matrix, Quantisation kind);
/// Returns the values of nf4 codes 0 to 15: [16] float32.
at::Tensor nf4_values(at::Device device);
/// Returns the matrix [out, in] in `dtype`: code x scale in float32, rounded to `from` (nf4), then to `dtype`.
at::Tensor dequantised(const QuantisedMatrix& matrix, at::ScalarType dtype);

/// Returns x W^T: x [T, in] -> [T, out]. W is dequantised to x's dtype, and again in backward, which gives only the
/// gradient of x.
at::Tensor quantised_linear(const at::Tensor& x, const QuantisedMatrix& matrix);

}  // namespace roll
