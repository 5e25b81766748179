// A rotation by the negative angle is both its inverse and its gradient, so nothing of the input is kept.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "ops/layer_ops.h"
#include "ops/wide.h"

namespace roll {

namespace {

/// Rotates the heads of one token; the inverse rotation (sign = -1) is also the gradient.
template <class T, class W = Wide<T>>
ROLL_INLINE void rotate_token(const T* x, const float* cos, const float* sin, W sign, T* y, int64_t heads,
                              int64_t half) {
  for (int64_t h = 0; h < heads; ++h, x += 2 * half, y += 2 * half)
    for (int64_t i = 0; i < half; ++i) {
      const W c = static_cast<W>(cos[i]), s = sign * static_cast<W>(sin[i]);
      const W first = widen(x[i]), second = widen(x[i + half]);
      y[i] = narrow<T>(first * c - second * s);
      y[i + half] = narrow<T>(second * c + first * s);
    }
}

#define ROLL_ROTATE_TOKENS(T, ATTRIBUTE)                                                                          \
  ATTRIBUTE void rotate_tokens(const T* x, const float* cos, const float* sin, const int64_t* rows, Wide<T> sign, \
                               T* y, int64_t tokens, int64_t heads, int64_t half) {                               \
    for (int64_t t = 0; t < tokens; ++t)                                                                          \
      rotate_token(x + t * heads * 2 * half, cos + rows[t] * half, sin + rows[t] * half, sign,                    \
                   y + t * heads * 2 * half, heads, half);                                                        \
  }
ROLL_ROTATE_TOKENS(float, ROLL_SIMD)
ROLL_ROTATE_TOKENS(c10::BFloat16, ROLL_SIMD)
ROLL_ROTATE_TOKENS(double, )
#undef ROLL_ROTATE_TOKENS

at::Tensor rotate_all(const at::Tensor& input, const Rotation& rotation, int sign) {
  const at::Tensor x = input.contiguous();
  const int64_t tokens = x.size(0), heads = x.size(1), half = x.size(2) / 2;
  at::Tensor y = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "rotate", [&] {
    const int64_t grain = std::max<int64_t>(1, 16384 / (heads * half * 2));
    at::parallel_for(0, tokens, grain, [&](int64_t begin, int64_t end) {
      const int64_t offset = begin * heads * half * 2;
      rotate_tokens(x.const_data_ptr<scalar_t>() + offset, rotation.cos.const_data_ptr<float>(),
                    rotation.sin.const_data_ptr<float>(), rotation.rows.const_data_ptr<int64_t>() + begin,
                    static_cast<Wide<scalar_t>>(sign), y.mutable_data_ptr<scalar_t>() + offset, end - begin, heads,
                    half);
    });
  });
  return y;
}

class Rotate : public torch::autograd::Function<Rotate> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, const at::Tensor& cos,
                            const at::Tensor& sin, const at::Tensor& rows) {
    ctx->save_for_backward({cos, sin, rows});
    return rotate_all(x, {cos, sin, rows}, 1);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    return {rotate_all(grads[0], {saved[0], saved[1], saved[2]}, -1), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

Rotation make_rotation(const at::Tensor& inverse_frequencies, const at::Tensor& positions, const at::Tensor& rows) {
  if (inverse_frequencies.is_meta()) return {};
  const at::Tensor angles = at::outer(positions.to(at::kFloat), inverse_frequencies);
  return {angles.cos(), angles.sin(), rows};
}

at::Tensor rotate(const at::Tensor& x, const Rotation& rotation) {
  if (x.is_meta()) return x;
  if (x.is_cpu()) return Rotate::apply(x, rotation.cos, rotation.sin, rotation.rows);
  const at::Tensor cos = rotation.cos.index_select(0, rotation.rows).unsqueeze(1);
  const at::Tensor sin = rotation.sin.index_select(0, rotation.rows).unsqueeze(1);
  const auto halves = x.to(at::kFloat).chunk(2, -1);
  return at::cat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1).to(x.scalar_type());
}

}  // namespace roll
