// AdamW over bfloat16 parameters that keep beside themselves what makes float32 masters of them (cuda/adamw_step.h).
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

struct AdamWConfig;
struct AdamWSlice;

/// Flat tensors of the same elements.
struct SplitSlice {
  at::Tensor high;                         // bfloat16: the parameters
  at::Tensor low;                          // int16
  at::Tensor gradient;                     // float32
  at::Tensor first_moment, second_moment;  // float32
};

/// One step, the num_steps-th; the gradient is first multiplied by `scale`. On the CPU to the bit what
/// at::_fused_adamw_ makes of the masters.
void step_split(const SplitSlice& slice, const AdamWConfig& config, double weight_decay, double lr, double scale,
                int64_t num_steps);

/// That step as a GPU's kernel.
AdamWSlice adamw_kernel(const SplitSlice& slice, const AdamWConfig& config, double weight_decay, double lr,
                        double scale, int64_t num_steps);

}  // namespace roll
