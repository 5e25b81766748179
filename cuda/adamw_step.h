// AdamW step for bfloat16 parameters: the kernel AdamWSlice, started by launch_layer_kernel.h. A parameter and 16 more
// bits form a float32 master weight (SplitFloat, used on the CPU too). So a parameter takes 16 bytes: 2 + 2 for the
// master weight, and 4 each for the gradient and two moments (float32). A step reads all 16 and writes all but the
// gradient.
#pragma once

#include "cuda/bf16.h"
#include "cuda/device_math.h"
#include "cuda/lane_block.h"

namespace roll {

/// A float32 in two halves; joined_float() restores it exactly.
struct SplitFloat {
  Bf16 high;    // nearest bfloat16, ties away from zero
  int16_t low;  // signed difference of the float32's bit pattern from that of `high`
};

/// Returns the halves of x, which must not be NaN.
ROLL_HOST_DEVICE SplitFloat split_float(float x) {
  const uint32_t bits = float_bits(x);
  return {{static_cast<uint16_t>((bits + 0x8000u) >> 16)}, static_cast<int16_t>(bits & 0xFFFFu)};
}

/// Returns the float32 that split_float() split.
ROLL_HOST_DEVICE float joined_float(SplitFloat x) {
  return float_from_bits((static_cast<uint32_t>(x.high.bits) << 16) +
                         static_cast<uint32_t>(static_cast<int32_t>(x.low)));
}

/// Constants of optimizer step t = 1, 2, ... (lr: learning rate); made by adamw_kernel() (optim/split_adamw.h).
struct AdamWStep {
  float scale = 1;          // factor of the gradient, such as that of gradient clipping
  float decay = 1;          // 1 - lr * weight decay
  float first_rate = 1;     // 1 - beta1, computed in double and rounded once
  float second_decay = 0;   // beta2
  float second_rate = 1;    // 1 - beta2, in the same way; 1 - float(0.999) would be 1.3e-8 off, a relative 1.3e-5
  float step_size = 0;      // lr / (1 - beta1^t)
  float second_factor = 1;  // 1 / sqrt(1 - beta2^t)
  float epsilon = 0;
};

/// Updates a parameter `weight` and its first and second moment in place (Loshchilov & Hutter 2019, algorithm 2). The
/// fields of `step` include the bias corrections.
ROLL_HOST_DEVICE void adamw(const AdamWStep& step, float gradient, float& weight, float& first, float& second) {
  gradient *= step.scale;
  first += step.first_rate * (gradient - first);
  second = step.second_decay * second + step.second_rate * gradient * gradient;
  weight = weight * step.decay -
           float_quotient(step.step_size * first, float_root(second) * step.second_factor + step.epsilon);
}

/// Kernel: an AdamW step over n elements. Updates high, low, first and second in place; reads gradient.
struct AdamWSlice {
  static constexpr int kLanes = 256, kVector = 4,
                       kElements = 4 * kLanes * kVector;  // threads, elements per access, elements per block
  template <class>
  using Shared = NoShared;
  AdamWStep step;
  const float* gradient = nullptr;            // [n]; this and the next pointers need no alignment beyond their type's
  Bf16* high = nullptr;                       // [n]: parameters, the upper halves of the master weights
  int16_t* low = nullptr;                     // [n]: SplitFloat::low of the same parameters
  float *first = nullptr, *second = nullptr;  // [n] each: moments
  int64_t n = 0;

  int64_t num_blocks() const { return (n + kElements - 1) / kElements; }
  /// Returns the bytes of device memory read and written.
  int64_t bytes() const { return 28 * n; }

  template <class Block>
  ROLL_KERNEL_TEXT void run(const Block& block, NoShared&, int64_t index) const {
    const int64_t begin = index * kElements, count = n - begin < kElements ? n - begin : kElements;
    const int64_t vectors = has_vectors() ? count / kVector : 0;
    block.each(vectors, [&](int64_t j) { update<kVector>(block, begin + j * kVector); });
    block.each(count - vectors * kVector, [&](int64_t j) { update<1>(block, begin + vectors * kVector + j); });
  }

 private:
  /// Returns true if all addresses allow vector access; a rank's slice can start at any element.
  ROLL_HOST_DEVICE bool has_vectors() const {
    const auto starts_at = [](const auto* p) { return reinterpret_cast<uintptr_t>(p) % (kVector * sizeof *p) == 0; };
    return starts_at(gradient) && starts_at(high) && starts_at(low) && starts_at(first) && starts_at(second);
  }

  template <int N, class Block>
  ROLL_KERNEL_TEXT void update(const Block& block, int64_t i) const {
    const Vector<float, N> g = block.template load<N>(gradient + i);
    Vector<float, N> m = block.template load<N>(first + i), v = block.template load<N>(second + i);
    Vector<Bf16, N> upper = block.template load<N>(high + i);
    Vector<int16_t, N> lower = block.template load<N>(low + i);
    for (int k = 0; k < N; ++k) {
      float weight = joined_float({upper.at[k], lower.at[k]});
      adamw(step, g.at[k], weight, m.at[k], v.at[k]);
      const SplitFloat halves = split_float(weight);
      upper.at[k] = halves.high;
      lower.at[k] = halves.low;
    }
    block.store(first + i, m);
    block.store(second + i, v);
    block.store(high + i, upper);
    block.store(low + i, lower);
  }
};

}  // namespace roll
