#include "ops/low_rank.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "base/error.h"
#include "ops/products.h"

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Consecutive rows.
struct Block {
  int64_t first, count;

  at::Tensor of(const at::Tensor& x) const { return x.narrow(0, first, count); }
};

/// Reads blocks of x [T, width] in the dtype of the adapter. They share one buffer: a block is valid until the next.
class WideRows {
 public:
  WideRows(const at::Tensor& x, const at::TensorOptions& options, int64_t most)
      : x_(x), buffer_(x.scalar_type() == options.dtype() ? at::Tensor() : at::empty({most, x.size(1)}, options)) {}

  at::Tensor read(const Block& block) const {
    return buffer_.defined() ? buffer_.narrow(0, 0, block.count).copy_(block.of(x_)) : block.of(x_);
  }

 private:
  at::Tensor x_, buffer_;
};

/// Returns rows of a matrix, or of its gradient, after dropout.
at::Tensor dropped(const at::Tensor& rows, const LowRank& low_rank, const Block& block) {
  return low_rank.token_keys.defined() ? dropped_out(rows, block.of(low_rank.token_keys), low_rank.dropout) : rows;
}

/// Number of rows of a block.
int64_t rows_per_block(const at::Tensor& x, const LowRank& low_rank) {
  const int64_t most = int64_t{1} << (x.is_cpu() ? 18 : 25);  // elements: 1 MiB, or 128 MiB, in float32
  const int64_t width = std::max(low_rank.a.size(1), low_rank.b.size(0));
  return std::clamp<int64_t>(most / width, 64, std::max<int64_t>(x.size(0), 64));
}

template <class F>
void for_each_block(int64_t rows, int64_t most, const F& f) {
  for (int64_t first = 0; first < rows; first += most) f(Block{first, std::min(most, rows - first)});
}

/// Adds scale * dropout(x) A^T B^T to y, and returns scale * dropout(x) A^T.
at::Tensor add_forward(at::Tensor y, const at::Tensor& x, const LowRank& low_rank) {
  const int64_t most = rows_per_block(x, low_rank);
  const WideRows inputs(x, low_rank.a.options(), most);
  const at::Tensor inner = at::empty({x.size(0), low_rank.a.size(0)}, low_rank.a.options()),
                   buffer = at::empty({most, y.size(1)}, low_rank.a.options());
  for_each_block(x.size(0), most, [&](const Block& block) {
    at::Tensor low = block.of(inner), into = block.of(y);
    linear_product_out(low, dropped(inputs.read(block), low_rank, block), low_rank.a);
    low.mul_(low_rank.scale);
    const at::Tensor added = buffer.narrow(0, 0, block.count);
    linear_product_out(added, low, low_rank.b);
    into.add_(added);
  });
  return inner;
}

/// The adapter's gradients; an undefined one is not wanted.
struct LowRankGradients {
  at::Tensor x, a, b;
};

/// Adds the gradients, given the result's, d_y. `inner`: from add_forward().
void add_backward(LowRankGradients& sums, const at::Tensor& d_y, const at::Tensor& x, const at::Tensor& inner,
                  const LowRank& low_rank) {
  const int64_t most = rows_per_block(x, low_rank);
  const WideRows inputs(x, low_rank.a.options(), most), gradients(d_y, low_rank.a.options(), most);
  for_each_block(x.size(0), most, [&](const Block& block) {
    const at::Tensor d = gradients.read(block);
    if (sums.b.defined()) add_product(sums.b, d, block.of(inner));
    const at::Tensor d_low = at::mm(d, low_rank.b).mul_(low_rank.scale);
    if (sums.a.defined()) add_product(sums.a, d_low, dropped(inputs.read(block), low_rank, block));
    if (sums.x.defined()) block.of(sums.x).add_(dropped(at::mm(d_low, low_rank.a), low_rank, block));
  });
}

/// Returns the tensor to which backward adds the weight's gradient: its grad() if that exists, else zeros.
at::Tensor gradient_sum(const at::Tensor& weight) {
  const at::Tensor kept = weight.is_leaf() ? weight.grad() : at::Tensor();
  return kept.defined() && kept.scalar_type() == weight.scalar_type() ? kept : at::zeros_like(weight);
}

/// Returns what autograd is to add to the weight's gradient.
at::Tensor returned(const at::Tensor& sum, const at::Tensor& weight) {
  return sum.defined() && weight.is_leaf() && sum.is_same(weight.grad()) ? at::Tensor() : sum;
}

/// Adds a low-rank product to `base`, which is y [T, N], or the weight W [N, K] of y = x W^T.
class LowRankSum : public torch::autograd::Function<LowRankSum> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& base, const at::Tensor& x, const at::Tensor& a,
                            const at::Tensor& b, const LowRank& low_rank, bool is_weight) {
    if (low_rank.token_keys.defined())
      ROLL_CHECK_EQ(x.size(0), low_rank.token_keys.size(0), "each token has a random key");
    const at::Tensor sum =
        is_weight ? linear_product(multipliable(x), multipliable(base)).to(x.scalar_type()) : base.clone();
    const at::Tensor inner = add_forward(sum, x, low_rank);
    ctx->save_for_backward({is_weight ? base : at::Tensor(), x, a, b, inner, low_rank.token_keys});
    ctx->saved_data["scale"] = low_rank.scale;
    ctx->saved_data["rate"] = low_rank.dropout.rate;
    ctx->saved_data["product"] = static_cast<int64_t>(low_rank.dropout.product);
    ctx->saved_data["first_column"] = low_rank.dropout.first_column;
    return sum;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &d_y = grads[0], &weight = saved[0], &x = saved[1], &a = saved[2], &b = saved[3];
    const LowRank low_rank = {.a = a,
                              .b = b,
                              .scale = ctx->saved_data["scale"].toDouble(),
                              .token_keys = saved[5],
                              .dropout = {.rate = ctx->saved_data["rate"].toDouble(),
                                          .product = static_cast<uint32_t>(ctx->saved_data["product"].toInt()),
                                          .first_column = ctx->saved_data["first_column"].toInt()}};
    LowRankGradients sums;
    if (ctx->needs_input_grad(1)) sums.x = weight.defined() ? matrix_product(d_y, weight) : at::zeros_like(x);
    if (ctx->needs_input_grad(2)) sums.a = gradient_sum(a);
    if (ctx->needs_input_grad(3)) sums.b = gradient_sum(b);
    add_backward(sums, d_y, x, saved[4], low_rank);
    return {weight.defined() ? at::Tensor() : d_y, sums.x, returned(sums.a, a), returned(sums.b, b), {}, {}};
  }
};

}  // namespace

at::Tensor adapted_linear(const at::Tensor& x, const at::Tensor& weight, const LowRank& low_rank) {
  return LowRankSum::apply(weight.detach(), x, low_rank.a, low_rank.b, low_rank, /*is_weight=*/true);
}

at::Tensor add_low_rank(const at::Tensor& y, const at::Tensor& x, const LowRank& low_rank) {
  return LowRankSum::apply(y, x, low_rank.a, low_rank.b, low_rank, /*is_weight=*/false);
}

}  // namespace roll
