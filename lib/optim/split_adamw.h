// One AdamW step over bfloat16 parameters whose float32 master weights are the parameters plus 16 low bits
// (cuda/adamw_step.h), for FlatOptimizer, on CPU and GPU.
#pragma once

#include <ATen/core/Tensor.h>

namespace roll {

struct AdamWConfig;
struct AdamWSlice;

/// Flat contiguous tensors [n] on one device; a slice of the parameters with its state.
struct SplitSlice {
  at::Tensor high;                         // bfloat16: the parameters
  at::Tensor low;                          // int16: low bits of the masters (SplitFloat::low)
  at::Tensor gradient;                     // float32
  at::Tensor first_moment, second_moment;  // float32
};

/// Makes AdamW step number `num_steps`, counted from 1 (bias correction depends on it). Updates all tensors but the
/// gradient in place; on the CPU it also scales the gradient in place. scale: factor of the gradient, from clipping.
/// weight_decay: taken instead of config.weight_decay. On the CPU, bit-equal to at::_fused_adamw_ on the masters.
void step_split(const SplitSlice& slice, const AdamWConfig& config, double weight_decay, double lr, double scale,
                int64_t num_steps);

/// Returns the same step as a GPU kernel, for launch_layer_kernel(); the tensors must outlive the launch.
AdamWSlice adamw_kernel(const SplitSlice& slice, const AdamWConfig& config, double weight_decay, double lr,
                        double scale, int64_t num_steps);

}  // namespace roll
