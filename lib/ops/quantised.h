// Matrices of 8 or 4 bits a number: what bitsandbytes makes of a weight, and makes a weight of again, to the bit.
#pragma once

#include <ATen/core/Tensor.h>

#include "ops/quantisation.h"

namespace roll {

/// A [out, in] matrix. int8: codes [out, in] int8, scales [out], the rows' largest sizes. nf4: codes [out, in / 2]
/// uint8, the first of two numbers in the high half; scales [out, in / 64], or, where blocks go over the ends of rows,
/// [numel / 64], rounded up. Scales are float32.
struct QuantisedMatrix {
  Quantisation kind = Quantisation::kInt8;
  at::Tensor codes, scales;
  at::ScalarType from = at::kFloat;  // of nf4: numbers are rounded to it, whatever they are wanted in
};

/// Of a matrix of floats, nf4 with an even number of inputs (Bug).
QuantisedMatrix quantised(const at::Tensor& matrix, Quantisation kind);
/// The values of nf4's codes 0 to 15: [16] float32.
at::Tensor nf4_values(at::Device device);
/// [out, in] in `dtype`: code x scale in float32, rounded to `from`, and to `dtype`.
at::Tensor dequantised(const QuantisedMatrix& matrix, at::ScalarType dtype);

/// x [T, in] -> x W^T [T, out], W dequantised in x's dtype, now and again in backward, which gives x's gradient alone.
at::Tensor quantised_linear(const at::Tensor& x, const QuantisedMatrix& matrix);

}  // namespace roll
