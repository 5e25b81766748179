#include "optim/split_adamw.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "cuda/launch_layer_kernel.h"
#include "device/on_device.h"
#include "optim/optimizer.h"

namespace roll {

AdamWSlice adamw_kernel(const SplitSlice& slice, const AdamWConfig& config, double weight_decay, double lr,
                        double scale, int64_t num_steps) {
  const auto t = static_cast<double>(num_steps);
  return {.step = {.scale = static_cast<float>(scale),
                   .decay = static_cast<float>(1 - lr * weight_decay),
                   .first_rate = static_cast<float>(1 - config.beta1),
                   .second_decay = static_cast<float>(config.beta2),
                   .second_rate = static_cast<float>(1 - config.beta2),
                   .step_size = static_cast<float>(lr / (1 - std::pow(config.beta1, t))),
                   .second_factor = static_cast<float>(1 / std::sqrt(1 - std::pow(config.beta2, t))),
                   .epsilon = static_cast<float>(config.epsilon)},
          .gradient = slice.gradient.const_data_ptr<float>(),
          .high = static_cast<Bf16*>(slice.high.data_ptr()),
          .low = slice.low.data_ptr<int16_t>(),
          .first = slice.first_moment.data_ptr<float>(),
          .second = slice.second_moment.data_ptr<float>(),
          .n = slice.high.numel()};
}

namespace {

/// Steps in blocks of masters that stay in a core's cache.
void step_on_cpu(const SplitSlice& slice, const AdamWConfig& config, double weight_decay, double lr, double scale,
                 int64_t num_steps) {
  constexpr int64_t kBlock = 1 << 14;
  auto* const high = static_cast<Bf16*>(slice.high.data_ptr());
  auto* const low = slice.low.data_ptr<int16_t>();
  const int64_t n = slice.high.numel();
  const at::Tensor steps = at::full({}, static_cast<double>(num_steps), slice.gradient.options());
  at::parallel_for(0, (n + kBlock - 1) / kBlock, 1, [&](int64_t first_block, int64_t end_block) {
    const at::NoGradGuard no_grad;
    const at::Tensor masters = at::empty({kBlock}, slice.gradient.options());
    auto* const master = masters.data_ptr<float>();
    for (int64_t block = first_block; block < end_block; ++block) {
      const int64_t begin = block * kBlock, size = std::min(kBlock, n - begin);
      const auto part = [&](const at::Tensor& whole) { return whole.narrow(0, begin, size); };
      for (int64_t i = 0; i < size; ++i) master[i] = joined_float({high[begin + i], low[begin + i]});
      if (scale != 1) part(slice.gradient).mul_(scale);
      at::_fused_adamw_({masters.narrow(0, 0, size)}, {part(slice.gradient)}, {part(slice.first_moment)},
                        {part(slice.second_moment)}, {}, {steps}, lr, config.beta1, config.beta2, weight_decay,
                        config.epsilon, /*amsgrad=*/false, /*maximize=*/false);
      for (int64_t i = 0; i < size; ++i) {
        const SplitFloat halves = split_float(master[i]);
        high[begin + i] = halves.high;
        low[begin + i] = halves.low;
      }
    }
  });
}

}  // namespace

void step_split(const SplitSlice& slice, const AdamWConfig& config, double weight_decay, double lr, double scale,
                int64_t num_steps) {
  if (!slice.high.is_cuda()) return step_on_cpu(slice, config, weight_decay, lr, scale, num_steps);
  const LayerKernelOf<float> kernel = adamw_kernel(slice, config, weight_decay, lr, scale, num_steps);
  launch_on(slice.high.device(), [&](void* stream) { cuda::launch_layer_kernel(kernel, stream); });
}

}  // namespace roll
