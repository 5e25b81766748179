// Gated activations of layer_ops.h (swiglu, geglu). Backward computes the sigmoid again instead of keeping it.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "ops/layer_ops.h"
#include "ops/products.h"
#include "ops/wide.h"

namespace roll {

namespace {

constexpr int64_t kElementsPerTask = 16384;

/// The gated result is an activation of the gate times factor(up), which is up itself unless a kind says otherwise.
struct PlainFactor {
  template <class W>
  static ROLL_INLINE void factor(W up, W& y, W& slope) {
    y = up;
    slope = W(1);
  }
};

/// Computes y = silu(x) and its derivative.
struct Silu : PlainFactor {
  template <class W>
  static ROLL_INLINE void compute(W x, W& y, W& slope) {
    const W whole = W(1) + fast_exp(-x), sigmoid = W(1) / whole;
    y = x / whole;
    slope = sigmoid * (W(1) + x * (W(1) - sigmoid));
  }
};

/// The tanh approximation of gelu: with u = sqrt(2 / pi) (x + 0.044715 x^3), x (1 + tanh(u)) / 2 = x sigmoid(2 u).
struct GeluTanh : PlainFactor {
  template <class W>
  static ROLL_INLINE void compute(W x, W& y, W& slope) {
    constexpr W kTwice = W(1.5957691216057308), kCubic = W(0.044715);  // 2 sqrt(2 / pi)
    const W sigmoid = W(1) / (W(1) + fast_exp(-kTwice * x * (W(1) + kCubic * x * x)));
    y = x * sigmoid;
    slope = sigmoid * (W(1) + x * (W(1) - sigmoid) * kTwice * (W(1) + W(3) * kCubic * x * x));
  }
};

/// clamped_swiglu(): where an operand is clamped, its derivative is 0.
struct ClampedSwiglu {
  template <class W>
  static ROLL_INLINE void compute(W x, W& y, W& slope) {
    constexpr W kLimit = W(kSwigluLimit), kSlope = W(kSwigluSlope);
    const W low = x < kLimit ? x : kLimit;
    const W sigmoid = W(1) / (W(1) + fast_exp(-kSlope * low));
    y = low * sigmoid;
    slope = x > kLimit ? W(0) : sigmoid * (W(1) + kSlope * low * (W(1) - sigmoid));
  }
  template <class W>
  static ROLL_INLINE void factor(W up, W& y, W& slope) {
    constexpr W kLimit = W(kSwigluLimit);
    y = (up < -kLimit ? -kLimit : up > kLimit ? kLimit : up) + W(1);
    slope = up < -kLimit || up > kLimit ? W(0) : W(1);
  }
};

template <class F, class T, class W = Wide<T>>
ROLL_INLINE void gate_forward(const T* gate, const T* up, T* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    W gated, slope, factor, factor_slope;
    F::compute(widen(gate[i]), gated, slope);
    F::factor(widen(up[i]), factor, factor_slope);
    y[i] = narrow<T>(gated * factor);
  }
}

template <class F, class T, class W = Wide<T>>
ROLL_INLINE void gate_backward(const T* gate, const T* up, const T* dy, T* dgate, T* dup, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const W d = widen(dy[i]);
    W gated, slope, factor, factor_slope;
    F::compute(widen(gate[i]), gated, slope);
    F::factor(widen(up[i]), factor, factor_slope);
    dgate[i] = narrow<T>(d * factor * slope);
    dup[i] = narrow<T>(d * gated * factor_slope);
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): F and T are types
#define ROLL_GATE_LOOPS(F, T, ATTRIBUTE)                                                                  \
  ATTRIBUTE void forward_loop(F, const T* gate, const T* up, T* y, int64_t n) {                           \
    gate_forward<F>(gate, up, y, n);                                                                      \
  }                                                                                                       \
  ATTRIBUTE void backward_loop(F, const T* gate, const T* up, const T* dy, T* dgate, T* dup, int64_t n) { \
    gate_backward<F>(gate, up, dy, dgate, dup, n);                                                        \
  }
ROLL_GATE_LOOPS(Silu, float, ROLL_SIMD)
ROLL_GATE_LOOPS(Silu, c10::BFloat16, ROLL_SIMD)
ROLL_GATE_LOOPS(Silu, double, )
ROLL_GATE_LOOPS(GeluTanh, float, ROLL_SIMD)
ROLL_GATE_LOOPS(GeluTanh, c10::BFloat16, ROLL_SIMD)
ROLL_GATE_LOOPS(GeluTanh, double, )
ROLL_GATE_LOOPS(ClampedSwiglu, float, ROLL_SIMD)
ROLL_GATE_LOOPS(ClampedSwiglu, c10::BFloat16, ROLL_SIMD)
ROLL_GATE_LOOPS(ClampedSwiglu, double, )
#undef ROLL_GATE_LOOPS
// NOLINTEND(bugprone-macro-parentheses)

template <class F>
class Gate : public torch::autograd::Function<Gate<F>> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& gate_in, const at::Tensor& up_in) {
    const at::Tensor gate = gate_in.contiguous(), up = up_in.contiguous();
    at::Tensor y = at::empty_like(gate);
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, gate.scalar_type(), "swiglu", [&] {
      at::parallel_for(0, gate.numel(), kElementsPerTask, [&](int64_t begin, int64_t end) {
        forward_loop(F(), gate.const_data_ptr<scalar_t>() + begin, up.const_data_ptr<scalar_t>() + begin,
                     y.mutable_data_ptr<scalar_t>() + begin, end - begin);
      });
    });
    ctx->save_for_backward({gate, up});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &gate = saved[0], &up = saved[1], dy = grads[0].contiguous();
    at::Tensor dgate = at::empty_like(gate), dup = at::empty_like(up);
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, gate.scalar_type(), "swiglu_backward", [&] {
      at::parallel_for(0, gate.numel(), kElementsPerTask, [&](int64_t begin, int64_t end) {
        backward_loop(F(), gate.const_data_ptr<scalar_t>() + begin, up.const_data_ptr<scalar_t>() + begin,
                      dy.const_data_ptr<scalar_t>() + begin, dgate.mutable_data_ptr<scalar_t>() + begin,
                      dup.mutable_data_ptr<scalar_t>() + begin, end - begin);
      });
    });
    return {dgate, dup};
  }
};

/// clamped_swiglu() with LibTorch's operators, in float32. Keeps its two operands alone.
class ClampedOnDevice : public torch::autograd::Function<ClampedOnDevice> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up) {
    ctx->save_for_backward({gate, up});
    const Parts parts(gate, up);
    return (parts.low * parts.sigmoid * parts.factor).to(gate.scalar_type());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grads) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &gate = saved[0], &up = saved[1];
    const Parts parts(gate, up);
    const at::Tensor dy = grads[0].to(parts.low.scalar_type());
    const at::Tensor slope = parts.sigmoid * (1 + kSwigluSlope * parts.low * (1 - parts.sigmoid));
    const at::Tensor dgate = (dy * parts.factor * slope).masked_fill(gate.gt(kSwigluLimit), 0);
    const at::Tensor dup = (dy * parts.low * parts.sigmoid).masked_fill(up.abs().gt(kSwigluLimit), 0);
    return {dgate.to(gate.scalar_type()), dup.to(up.scalar_type())};
  }

 private:
  struct Parts {
    Parts(const at::Tensor& gate, const at::Tensor& up)
        : low(gate.to(wide_dtype(gate)).clamp_max(kSwigluLimit)),
          sigmoid(at::sigmoid(low * kSwigluSlope)),
          factor(up.to(low.scalar_type()).clamp(-kSwigluLimit, kSwigluLimit) + 1) {}
    at::Tensor low, sigmoid, factor;
  };
};

}  // namespace

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  return gate.is_cpu() ? Gate<Silu>::apply(gate, up) : at::silu(gate) * up;
}

at::Tensor clamped_swiglu(const at::Tensor& gate, const at::Tensor& up) {
  if (gate.is_meta()) return at::silu(gate) * up;  // planned run: the right shape and dependencies
  return gate.is_cpu() ? Gate<ClampedSwiglu>::apply(gate, up) : ClampedOnDevice::apply(gate, up);
}

at::Tensor geglu(const at::Tensor& gate, const at::Tensor& up) {
  return gate.is_cpu() ? Gate<GeluTanh>::apply(gate, up) : at::gelu(gate, "tanh") * up;
}

}  // namespace roll
