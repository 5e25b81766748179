// RoPE of layer_ops.h. Rotation by the negative angle is both the inverse and the gradient, so the input is not kept.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "ops/layer_ops.h"
#include "ops/wide.h"

namespace roll {

namespace {

/// Pairing of the first 2 * half elements of a head of `size`: i * step with i * step + distance.
struct Pairs {
  int64_t size, half, step, distance;
};

/// Rotates the heads of one token; the inverse rotation (sign = -1) is also the gradient.
template <class T, class W = Wide<T>>
ROLL_INLINE void rotate_token(const T* x, const float* cos, const float* sin, W sign, T* y, int64_t heads,
                              const Pairs& pairs) {
  for (int64_t h = 0; h < heads; ++h, x += pairs.size, y += pairs.size) {
    for (int64_t i = 0; i < pairs.half; ++i) {
      const W c = static_cast<W>(cos[i]), s = sign * static_cast<W>(sin[i]);
      const W first = widen(x[i * pairs.step]), second = widen(x[i * pairs.step + pairs.distance]);
      y[i * pairs.step] = narrow<T>(first * c - second * s);
      y[i * pairs.step + pairs.distance] = narrow<T>(second * c + first * s);
    }
    for (int64_t i = 2 * pairs.half; i < pairs.size; ++i) y[i] = x[i];
  }
}

// A constant step of 1 lets the compiler vectorise pairs that are not interleaved.
#define ROLL_ROTATE_TOKENS(T, ATTRIBUTE)                                                                          \
  ATTRIBUTE void rotate_tokens(const T* x, const float* cos, const float* sin, const int64_t* rows, Wide<T> sign, \
                               T* y, int64_t tokens, int64_t heads, const Pairs& pairs) {                         \
    const Pairs halves{pairs.size, pairs.half, 1, pairs.half};                                                    \
    for (int64_t t = 0; t < tokens; ++t, x += heads * pairs.size, y += heads * pairs.size) {                      \
      const float *const c = cos + rows[t] * pairs.half, *const s = sin + rows[t] * pairs.half;                   \
      if (pairs.step == 1)                                                                                        \
        rotate_token(x, c, s, sign, y, heads, halves);                                                            \
      else                                                                                                        \
        rotate_token(x, c, s, sign, y, heads, pairs);                                                             \
    }                                                                                                             \
  }
ROLL_ROTATE_TOKENS(float, ROLL_SIMD)
ROLL_ROTATE_TOKENS(c10::BFloat16, ROLL_SIMD)
ROLL_ROTATE_TOKENS(double, )
#undef ROLL_ROTATE_TOKENS

at::Tensor rotate_all(const at::Tensor& input, const Rotation& rotation, int sign) {
  const at::Tensor x = input.contiguous();
  const int64_t tokens = x.size(0), heads = x.size(1), size = x.size(2), half = rotation.cos.size(1);
  const bool interleaved = rotation.interleaved;
  const Pairs pairs{size, half, interleaved ? 2 : 1, interleaved ? 1 : half};
  at::Tensor y = at::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "rotate", [&] {
    const int64_t grain = std::max<int64_t>(1, 16384 / (heads * size));
    at::parallel_for(0, tokens, grain, [&](int64_t begin, int64_t end) {
      const int64_t offset = begin * heads * size;
      rotate_tokens(x.const_data_ptr<scalar_t>() + offset, rotation.cos.const_data_ptr<float>(),
                    rotation.sin.const_data_ptr<float>(), rotation.rows.const_data_ptr<int64_t>() + begin,
                    static_cast<Wide<scalar_t>>(sign), y.mutable_data_ptr<scalar_t>() + offset, end - begin, heads,
                    pairs);
    });
  });
  return y;
}

class Rotate : public torch::autograd::Function<Rotate> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, const at::Tensor& cos,
                            const at::Tensor& sin, const at::Tensor& rows, bool interleaved) {
    ctx->save_for_backward({cos, sin, rows});
    ctx->saved_data["interleaved"] = interleaved;
    return rotate_all(x, {cos, sin, rows, interleaved}, 1);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const bool interleaved = ctx->saved_data["interleaved"].toBool();
    return {rotate_all(grads[0], {saved[0], saved[1], saved[2], interleaved}, -1), at::Tensor(), at::Tensor(),
            at::Tensor(), at::Tensor()};
  }
};

}  // namespace

Rotation make_rotation(const at::Tensor& inverse_frequencies, const at::Tensor& positions, const at::Tensor& rows,
                       double scale) {
  if (inverse_frequencies.is_meta()) return {};
  const at::Tensor angles = at::outer(positions.to(at::kFloat), inverse_frequencies);
  if (scale == 1) return {angles.cos(), angles.sin(), rows};
  return {angles.cos() * scale, angles.sin() * scale, rows};
}

at::Tensor rotate(const at::Tensor& x, const Rotation& rotation) {
  if (x.is_meta()) return x;
  if (x.is_cpu()) return Rotate::apply(x, rotation.cos, rotation.sin, rotation.rows, rotation.interleaved);
  const at::Tensor cos = rotation.cos.index_select(0, rotation.rows).unsqueeze(1);
  const at::Tensor sin = rotation.sin.index_select(0, rotation.rows).unsqueeze(1);
  const int64_t part = 2 * cos.size(2);
  const at::Tensor rotated_part = x.narrow(-1, 0, part).to(at::kFloat);
  const auto halves = rotation.interleaved ? rotated_part.unflatten(-1, {-1, 2}).unbind(-1) : rotated_part.chunk(2, -1);
  const std::vector<at::Tensor> rotated_halves = {halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin};
  const at::Tensor first =
      (rotation.interleaved ? at::stack(rotated_halves, -1).flatten(-2) : at::cat(rotated_halves, -1));
  return at::cat({first.to(x.scalar_type()), x.narrow(-1, part, x.size(-1) - part)}, -1);
}

}  // namespace roll
