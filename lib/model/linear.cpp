#include "model/linear.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "ops/accumulating_linear.h"
#include "ops/products.h"

namespace roll {

namespace {

at::Tensor dense(const Linear& linear, at::ScalarType dtype) {
  return linear.quantised ? dequantised(*linear.quantised, linear.dtype).to(dtype) : linear.weight.detach().to(dtype);
}

/// W + s B A in the adapter's dtype.
at::Tensor adapted_matrix(const Linear& linear) {
  const Adapter& adapter = *linear.adapter;
  return at::addmm(dense(linear, adapter.a.scalar_type()), adapter.b.detach(), adapter.a.detach(), 1, adapter.scale);
}

/// What makes the rows of W + s B A as long as DoRA's magnitude says: [out]. Lengths are constants to the gradient
/// (section 4.3 of the paper).
at::Tensor stretch(const Adapter& adapter, const at::Tensor& matrix) {
  return adapter.magnitude / row_lengths(matrix, adapter.columns);
}

}  // namespace

at::Tensor row_lengths(const at::Tensor& matrix, Communicator* columns) {
  const at::NoGradGuard no_grad;
  at::Tensor squares = matrix.square().sum(1);
  if (columns) columns->all_reduce_sum(squares, "lengths of rows");
  return squares.sqrt();
}

int64_t Linear::inputs() const {
  return quantised && quantised->kind == Quantisation::kNf4 ? 2 * weight.size(1) : weight.size(1);
}

at::Tensor with_adapter(const Linear& linear, const at::Tensor& base, const at::Tensor& x) {
  if (!linear.adapter) return base;
  const Adapter& adapter = *linear.adapter;
  const at::Tensor small = accumulating_linear(x.to(adapter.a.scalar_type()), adapter.a);
  at::Tensor sum = at::add(base, accumulating_linear(small, adapter.b), adapter.scale);
  if (adapter.magnitude.defined()) sum = sum * stretch(adapter, adapted_matrix(linear));
  return sum.to(base.scalar_type());
}

at::Tensor product(const Linear& linear, const at::Tensor& x) {
  const at::Tensor base =
      linear.quantised ? quantised_linear(x, *linear.quantised) : accumulating_linear(x, linear.weight);
  return with_adapter(linear, base, x);
}

at::Tensor merged_weight(const Linear& linear) {
  if (linear.is_plain()) return linear.weight;
  const at::NoGradGuard no_grad;
  if (!linear.adapter) return dense(linear, linear.dtype);
  at::Tensor matrix = adapted_matrix(linear);
  if (linear.adapter->magnitude.defined()) matrix = matrix * stretch(*linear.adapter, matrix).unsqueeze(1);
  return matrix.to(linear.dtype);
}

}  // namespace roll
