// RMS norm of layer_ops.h. Forward keeps 1 / sqrt(mean(x^2) + eps) of each row, so backward is one pass.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "ops/layer_ops.h"
#include "ops/products.h"
#include "ops/wide.h"

namespace roll {

namespace {

// Rows per task, and per partial sum of the weight's gradient: fixed, so that sums do not depend on the thread count.
constexpr int64_t kRowsPerBlock = 128;

template <class T, class W = Wide<T>>
ROLL_INLINE void normalise_row(const T* x, const T* weight, W offset, T* y, W* rstd, int64_t width, W eps) {
  W squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < width; ++i) squares += widen(x[i]) * widen(x[i]);
  const W scale = W(1) / std::sqrt(squares / static_cast<W>(width) + eps);
  for (int64_t i = 0; i < width; ++i) y[i] = narrow<T>(widen(x[i]) * scale * (widen(weight[i]) + offset));
  *rstd = scale;
}

/// Computes dx = r (g - x r^2 mean(g x)) with g = dy * (weight + offset), and dweight += dy x r.
template <class T, class W = Wide<T>>
ROLL_INLINE void differentiate_row(const T* x, const T* weight, W offset, const T* dy, W r, T* dx, W* dweight,
                                   int64_t width) {
  W dot = 0;
#pragma omp simd reduction(+ : dot)
  for (int64_t i = 0; i < width; ++i) dot += widen(dy[i]) * (widen(weight[i]) + offset) * widen(x[i]);
  const W pull = dot * r * r / static_cast<W>(width);
  for (int64_t i = 0; i < width; ++i) {
    const W in = widen(x[i]), grad = widen(dy[i]);
    dx[i] = narrow<T>(r * (grad * (widen(weight[i]) + offset) - in * pull));
    dweight[i] += grad * in * r;
  }
}

#define ROLL_RMS_NORM_ROWS(T, ATTRIBUTE)                                                                           \
  ATTRIBUTE void normalise_rows(const T* x, const T* weight, Wide<T> offset, T* y, Wide<T>* rstd, int64_t rows,    \
                                int64_t width, Wide<T> eps) {                                                      \
    for (int64_t i = 0; i < rows; ++i)                                                                             \
      normalise_row(x + i * width, weight, offset, y + i * width, rstd + i, width, eps);                           \
  }                                                                                                                \
  ATTRIBUTE void differentiate_rows(const T* x, const T* weight, Wide<T> offset, const T* dy, const Wide<T>* rstd, \
                                    T* dx, Wide<T>* dweight, int64_t rows, int64_t width) {                        \
    for (int64_t i = 0; i < rows; ++i)                                                                             \
      differentiate_row(x + i * width, weight, offset, dy + i * width, rstd[i], dx + i * width, dweight, width);   \
  }
ROLL_RMS_NORM_ROWS(float, ROLL_SIMD)
ROLL_RMS_NORM_ROWS(c10::BFloat16, ROLL_SIMD)
ROLL_RMS_NORM_ROWS(double, )
#undef ROLL_RMS_NORM_ROWS

template <class F>
void for_each_block(int64_t rows, const F& f) {
  const int64_t blocks = (rows + kRowsPerBlock - 1) / kRowsPerBlock;
  at::parallel_for(0, blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block)
      f(block, block * kRowsPerBlock, std::min(rows, (block + 1) * kRowsPerBlock));
  });
}

class RmsNorm : public torch::autograd::Function<RmsNorm> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& input, const at::Tensor& weight,
                            double eps, double offset) {
    const at::Tensor x = input.contiguous();
    const int64_t width = weight.numel(), rows = x.numel() / width;
    at::Tensor y = at::empty_like(x), rstd = at::empty({rows}, x.options().dtype(wide_dtype(x)));
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "rms_norm", [&] {
      for_each_block(rows, [&](int64_t, int64_t begin, int64_t end) {
        normalise_rows(x.const_data_ptr<scalar_t>() + begin * width, weight.const_data_ptr<scalar_t>(),
                       static_cast<Wide<scalar_t>>(offset), y.mutable_data_ptr<scalar_t>() + begin * width,
                       rstd.mutable_data_ptr<Wide<scalar_t>>() + begin, end - begin, width,
                       static_cast<Wide<scalar_t>>(eps));
      });
    });
    ctx->save_for_backward({x, weight, rstd});
    ctx->saved_data["offset"] = offset;
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &rstd = saved[2], dy = grads[0].contiguous();
    const int64_t width = weight.numel(), rows = rstd.numel();
    const double offset = ctx->saved_data["offset"].toDouble();
    at::Tensor dx = at::empty_like(x);
    at::Tensor partial = at::zeros({(rows + kRowsPerBlock - 1) / kRowsPerBlock, width}, rstd.options());
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "rms_norm_backward", [&] {
      for_each_block(rows, [&](int64_t block, int64_t begin, int64_t end) {
        differentiate_rows(x.const_data_ptr<scalar_t>() + begin * width, weight.const_data_ptr<scalar_t>(),
                           static_cast<Wide<scalar_t>>(offset), dy.const_data_ptr<scalar_t>() + begin * width,
                           rstd.const_data_ptr<Wide<scalar_t>>() + begin,
                           dx.mutable_data_ptr<scalar_t>() + begin * width,
                           partial.mutable_data_ptr<Wide<scalar_t>>() + block * width, end - begin, width);
      });
    });
    return {dx, partial.sum(0).to(weight.scalar_type()), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps, double offset) {
  if (x.is_meta()) return x * weight;
  if (x.is_cpu()) return RmsNorm::apply(x, weight, eps, offset);
  const at::Tensor wide = x.to(at::kFloat), normed = wide * at::rsqrt(wide.pow(2).mean(-1, true) + eps);
  if (offset != 0) return (normed * (weight.to(at::kFloat) + offset)).to(x.scalar_type());
  return normed.to(x.scalar_type()) * weight;
}

}  // namespace roll
