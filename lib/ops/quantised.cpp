#include "ops/quantised.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include "base/error.h"
#include "ops/products.h"

namespace roll {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr double kInt8Step = 7.874015718698502e-3;  // bitsandbytes' float32 1 / 127
constexpr double kSmallest = 1e-38;                 // smallest divisor: a block of zeros

bool has_whole_blocks(int64_t inputs) {
  return inputs % kNf4Block == 0;
}

QuantisedMatrix to_int8(const at::Tensor& matrix) {
  const at::Tensor largest = matrix.abs().amax(1);
  const at::Tensor steps = matrix * (largest.reciprocal() * 127).unsqueeze(1);  // NaN in rows of zeros
  const at::Tensor codes = at::round(steps).nan_to_num(0).to(at::kChar);
  return {Quantisation::kInt8, codes, largest};
}

QuantisedMatrix to_nf4(const at::Tensor& matrix) {
  const int64_t inputs = matrix.size(1), numel = matrix.numel();
  ROLL_CHECK_EQ(inputs % 2, 0, "two elements share a byte");
  const int64_t blocks = (numel + kNf4Block - 1) / kNf4Block;
  const at::Tensor padded = at::constant_pad_nd(matrix.reshape({-1}), {0, blocks * kNf4Block - numel});
  const at::Tensor rows = padded.view({blocks, kNf4Block});
  const at::Tensor scales = rows.abs().amax(1);
  const at::Tensor largest = scales.clamp_min(kSmallest);
  const at::Tensor unit = (rows * largest.reciprocal().unsqueeze(1)).clamp(-1, 1);
  if (numel % kNf4Block != 0) unit[-1] = (rows[-1] / largest[-1]).clamp(-1, 1);  // bitsandbytes divides here
  const at::Tensor values = nf4_values(matrix.device());
  const at::Tensor bounds = (values.narrow(0, 0, 15) + values.narrow(0, 1, 15)) / 2;
  const at::Tensor codes = at::bucketize(unit, bounds, /*out_int32=*/true).to(at::kByte).view({-1}).narrow(0, 0, numel);
  const at::Tensor pairs = codes.view({-1, 2});
  const at::Tensor packed = pairs.select(1, 0).bitwise_left_shift(4).bitwise_or(pairs.select(1, 1));
  return {Quantisation::kNf4, packed.view({matrix.size(0), inputs / 2}),
          has_whole_blocks(inputs) ? scales.view({matrix.size(0), inputs / kNf4Block}) : scales};
}

at::Tensor from_nf4(const at::Tensor& codes, const at::Tensor& scales) {
  const at::Tensor pairs = at::stack({codes.bitwise_right_shift(4), codes.bitwise_and(15)}, 2).to(at::kInt);
  const at::Tensor values = nf4_values(codes.device()).index_select(0, pairs.reshape({-1}));
  const at::Tensor element_scales = scales.reshape({-1}).repeat_interleave(kNf4Block).narrow(0, 0, values.numel());
  return (values * element_scales).view({codes.size(0), 2 * codes.size(1)});
}

class QuantisedLinear : public torch::autograd::Function<QuantisedLinear> {
 public:
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& codes,
                            const at::Tensor& scales, int64_t kind, int64_t from) {
    ctx->save_for_backward({codes, scales});
    ctx->saved_data["kind"] = kind;
    ctx->saved_data["from"] = from;
    return at::linear(multipliable(x), weight(codes, scales, kind, from, x)).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &d_out = grads[0], w = weight(saved[0], saved[1], ctx->saved_data["kind"].toInt(),
                                                   ctx->saved_data["from"].toInt(), d_out);
    return {at::mm(multipliable(d_out), w).to(d_out.scalar_type()), {}, {}, {}, {}};
  }

 private:
  static at::Tensor weight(const at::Tensor& codes, const at::Tensor& scales, int64_t kind, int64_t from,
                           const at::Tensor& x) {
    const QuantisedMatrix matrix = {static_cast<Quantisation>(kind), codes, scales, static_cast<at::ScalarType>(from)};
    return multipliable(dequantised(matrix, x.scalar_type()));
  }
};

}  // namespace

at::Tensor nf4_values(at::Device device) {
  static const at::Tensor values = at::tensor(
      std::vector<float>{-1.0F, -0.6961928009986877F, -0.5250730514526367F, -0.39491748809814453F,
                         -0.28444138169288635F, -0.18477343022823334F, -0.09105003625154495F, 0.0F,
                         0.07958029955625534F, 0.16093020141124725F, 0.24611230194568634F, 0.33791524171829224F,
                         0.44070982933044434F, 0.5626170039176941F, 0.7229568362236023F, 1.0F});
  return values.to(device);
}

QuantisedMatrix quantised(const at::Tensor& matrix, Quantisation kind) {
  const at::NoGradGuard no_grad;
  const at::Tensor wide = matrix.detach().to(at::kFloat).contiguous();
  return kind == Quantisation::kInt8 ? to_int8(wide) : to_nf4(wide);
}

at::Tensor dequantised(const QuantisedMatrix& matrix, at::ScalarType dtype) {
  const at::NoGradGuard no_grad;
  if (matrix.kind == Quantisation::kNf4) return from_nf4(matrix.codes, matrix.scales).to(matrix.from).to(dtype);
  return (matrix.codes * matrix.scales.unsqueeze(1) * kInt8Step).to(dtype);
}

at::Tensor quantised_linear(const at::Tensor& x, const QuantisedMatrix& matrix) {
  return QuantisedLinear::apply(x, matrix.codes, matrix.scales, static_cast<int64_t>(matrix.kind),
                                static_cast<int64_t>(matrix.from));
}

}  // namespace roll
