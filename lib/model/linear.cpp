#include "model/linear.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "ops/accumulating_linear.h"
#include "ops/low_rank.h"
#include "ops/products.h"

namespace roll {

namespace {

at::Tensor dense(const Linear& linear, at::ScalarType dtype) {
  return linear.quantised ? dequantised(*linear.quantised, linear.dtype).to(dtype) : linear.weight.detach().to(dtype);
}

/// Returns W + s B A in the adapter's dtype.
at::Tensor adapted_matrix(const Linear& linear) {
  const Adapter& adapter = *linear.adapter;
  return at::addmm(dense(linear, adapter.a.scalar_type()), adapter.b.detach(), adapter.a.detach(), 1, adapter.scale);
}

/// Returns the factors [out] that give the rows of W + s B A the norms in DoRA's magnitude. The norms are constants to
/// the gradient (section 4.3 of the paper).
at::Tensor stretch(const Adapter& adapter, const at::Tensor& matrix) {
  return adapter.magnitude / row_norms(matrix, adapter.columns);
}

/// Returns x W^T.
at::Tensor frozen_product(const Linear& linear, const at::Tensor& x) {
  return linear.quantised ? quantised_linear(x, *linear.quantised) : accumulating_linear(x, linear.weight);
}

/// Returns the product of a layer with DoRA.
at::Tensor stretched_product(const Linear& linear, const at::Tensor& x, LowRank low_rank) {
  const at::Tensor stretched = stretch(*linear.adapter, adapted_matrix(linear)), base = frozen_product(linear, x);
  low_rank.b = stretched.unsqueeze(1) * low_rank.b;
  if (!low_rank.token_keys.defined()) return add_low_rank(base * stretched, x, low_rank).to(x.scalar_type());
  // Like PEFT, this applies dropout to the term that rescales W's rows as well.
  const at::Tensor kept = dropped_out(x.to(low_rank.a.scalar_type()), low_rank.token_keys, low_rank.dropout);
  const at::Tensor change = frozen_product(linear, kept.to(x.scalar_type())) * (stretched - 1);
  return add_low_rank(base + change, x, low_rank).to(x.scalar_type());
}

}  // namespace

at::Tensor row_norms(const at::Tensor& matrix, Communicator* columns) {
  const at::NoGradGuard no_grad;
  at::Tensor squares = matrix.square().sum(1);
  if (columns) columns->all_reduce_sum(squares, "norms of rows");
  return squares.sqrt();
}

int64_t Linear::inputs() const {
  return quantised && quantised->kind == Quantisation::kNf4 ? 2 * weight.size(1) : weight.size(1);
}

at::Tensor product(const Linear& linear, const at::Tensor& x, const at::Tensor& token_keys) {
  if (!linear.adapter) return frozen_product(linear, x);
  const Adapter& adapter = *linear.adapter;
  LowRank low_rank = {.a = adapter.a, .b = adapter.b, .scale = adapter.scale};
  if (token_keys.defined() && adapter.dropout.rate > 0) {
    low_rank.token_keys = token_keys;
    low_rank.dropout = adapter.dropout;
  }
  if (adapter.magnitude.defined()) return stretched_product(linear, x, low_rank);
  return linear.quantised ? add_low_rank(frozen_product(linear, x), x, low_rank)
                          : adapted_linear(x, linear.weight, low_rank);
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
