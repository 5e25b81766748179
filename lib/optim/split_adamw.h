// AdamW over bfloat16 parameters whose float32 masters are the parameters plus 16 low bits (cuda/adamw_step.h).
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

struct AdamWConfig;
struct AdamWSlice;

/// Flat tensors with equal numbers of elements.
struct SplitSlice {
  at::Tensor high;                         // bfloat16: the parameters
  at::Tensor low;                          // int16: the masters' low bits
  at::Tensor gradient;                     // float32
  at::Tensor first_moment, second_moment;  // float32
};

/// Makes the num_steps-th step; first multiplies the gradient by `scale`. On the CPU, bit-equal to at::_fused_adamw_ on
/// the masters.
void step_split(const SplitSlice& slice, const AdamWConfig& config, double weight_decay, double lr, double scale,
                int64_t num_steps);

/// Returns the same step as a GPU kernel.
AdamWSlice adamw_kernel(const SplitSlice& slice, const AdamWConfig& config, double weight_decay, double lr,
                        double scale, int64_t num_steps);

}  // namespace roll
