// One AdamW step of bfloat16 parameters, each with the 16 bits that make a float32 master of it: 16 bytes a parameter
// with gradient and moments. Leaf: plain pointers and a stream. Without CUDA adamw_step() throws SystemError.
#pragma once

#include "cuda/bf16.h"
#include "cuda/device_math.h"

namespace roll {

/// A float32 in two halves: `high` is the nearest bfloat16, of two the larger in magnitude; `low` is what is left, in
/// units of the float's last place.
struct SplitFloat {
  Bf16 high;
  int16_t low;
};

/// x is not NaN.
ROLL_HOST_DEVICE SplitFloat split_float(float x) {
  const uint32_t bits = bits_of(x);
  return {{static_cast<uint16_t>((bits + 0x8000u) >> 16)}, static_cast<int16_t>(bits & 0xFFFFu)};
}

ROLL_HOST_DEVICE float joined_float(SplitFloat x) {
  return float_of((static_cast<uint32_t>(x.high.bits) << 16) + static_cast<uint32_t>(static_cast<int32_t>(x.low)));
}

struct AdamWStep {
  float scale = 1;  // of the gradient
  float decay = 1;  // 1 - lr * weight decay
  float beta1 = 0, beta2 = 0;
  float step_size = 0;      // lr / (1 - beta1^t)
  float second_factor = 1;  // 1 / sqrt(1 - beta2^t)
  float epsilon = 0;
};

/// Loshchilov & Hutter 2019, algorithm 2, with the corrections of the moments' bias taken out of the loop.
ROLL_HOST_DEVICE void adamw(const AdamWStep& step, float gradient, float& weight, float& first, float& second) {
  gradient *= step.scale;
  first += (1 - step.beta1) * (gradient - first);
  second = step.beta2 * second + (1 - step.beta2) * gradient * gradient;
  weight =
      weight * step.decay - quotient_of(step.step_size * first, root_of(second) * step.second_factor + step.epsilon);
}

/// What a step reads and writes: n elements each, on the device.
struct AdamWArrays {
  const float* gradient = nullptr;
  Bf16* high = nullptr;
  int16_t* low = nullptr;
  float *first = nullptr, *second = nullptr;
  int64_t n = 0;

  ROLL_HOST_DEVICE void run(const AdamWStep& step, int64_t i) const {
    float weight = joined_float({high[i], low[i]});
    adamw(step, gradient[i], weight, first[i], second[i]);
    const SplitFloat halves = split_float(weight);
    high[i] = halves.high;
    low[i] = halves.low;
  }
};

namespace cuda {

void adamw_step(const AdamWStep& step, const AdamWArrays& arrays, void* stream);

}  // namespace cuda

}  // namespace roll
