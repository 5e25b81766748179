#include "ops/layer_ops.h"

#include <ATen/ATen.h>

namespace roll {

namespace {

at::Tensor widen(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const at::Tensor wide = widen(x);
  return (wide * at::rsqrt(wide.pow(2).mean(-1, true) + eps)).to(x.scalar_type()) * weight;
}

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  return at::silu(gate) * up;
}

RotaryTable make_rotary_table(const at::Tensor& inverse_frequencies, int64_t num_positions) {
  const at::Tensor angles = at::outer(at::arange(num_positions, inverse_frequencies.options()), inverse_frequencies);
  return {angles.cos(), angles.sin()};
}

at::Tensor rotate(const at::Tensor& x, const RotaryTable& table, const at::Tensor& positions) {
  const at::Tensor cos = table.cos.index_select(0, positions).unsqueeze(1);
  const at::Tensor sin = table.sin.index_select(0, positions).unsqueeze(1);
  const auto halves = widen(x).chunk(2, -1);
  return at::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1).to(x.scalar_type());
}

}  // namespace roll
