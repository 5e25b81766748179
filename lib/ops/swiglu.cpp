// Backward computes the sigmoid again instead of keeping it.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include "ops/layer_ops.h"
#include "ops/wide.h"

namespace roll {

namespace {

constexpr int64_t kElementsPerTask = 16384;

template <class T, class W = Wide<T>>
ROLL_INLINE void gate_forward(const T* gate, const T* up, T* y, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const W g = widen(gate[i]);
    y[i] = narrow<T>(g / (W(1) + fast_exp(-g)) * widen(up[i]));
  }
}

template <class T, class W = Wide<T>>
ROLL_INLINE void gate_backward(const T* gate, const T* up, const T* dy, T* dgate, T* dup, int64_t n) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const W g = widen(gate[i]), d = widen(dy[i]), sigmoid = W(1) / (W(1) + fast_exp(-g));
    dgate[i] = narrow<T>(d * widen(up[i]) * sigmoid * (W(1) + g * (W(1) - sigmoid)));
    dup[i] = narrow<T>(d * g * sigmoid);
  }
}

#define ROLL_GATE_LOOPS(T, ATTRIBUTE)                                                                  \
  ATTRIBUTE void forward_loop(const T* gate, const T* up, T* y, int64_t n) {                           \
    gate_forward(gate, up, y, n);                                                                      \
  }                                                                                                    \
  ATTRIBUTE void backward_loop(const T* gate, const T* up, const T* dy, T* dgate, T* dup, int64_t n) { \
    gate_backward(gate, up, dy, dgate, dup, n);                                                        \
  }
ROLL_GATE_LOOPS(float, ROLL_SIMD)
ROLL_GATE_LOOPS(c10::BFloat16, ROLL_SIMD)
ROLL_GATE_LOOPS(double, )
#undef ROLL_GATE_LOOPS

class Swiglu : public torch::autograd::Function<Swiglu> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& gate_in, const at::Tensor& up_in) {
    const at::Tensor gate = gate_in.contiguous(), up = up_in.contiguous();
    at::Tensor y = at::empty_like(gate);
    AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, gate.scalar_type(), "swiglu", [&] {
      at::parallel_for(0, gate.numel(), kElementsPerTask, [&](int64_t begin, int64_t end) {
        forward_loop(gate.const_data_ptr<scalar_t>() + begin, up.const_data_ptr<scalar_t>() + begin,
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
        backward_loop(gate.const_data_ptr<scalar_t>() + begin, up.const_data_ptr<scalar_t>() + begin,
                      dy.const_data_ptr<scalar_t>() + begin, dgate.mutable_data_ptr<scalar_t>() + begin,
                      dup.mutable_data_ptr<scalar_t>() + begin, end - begin);
      });
    });
    return {dgate, dup};
  }
};

}  // namespace

at::Tensor swiglu(const at::Tensor& gate, const at::Tensor& up) {
  return gate.is_cpu() ? Swiglu::apply(gate, up) : at::silu(gate) * up;
}

}  // namespace roll
