#include "optim/muon.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace roll {

namespace {

constexpr double kA = 3.4445, kB = -4.775, kC = 2.0315;  // make small singular values grow fastest
constexpr double kLeastNorm = 1e-7;
constexpr double kAdamWSize = 0.2;  // root mean square of AdamW's updates with learning rate 1

}  // namespace

void add_momentum(const at::Tensor& momentum, const at::Tensor& gradient, double mu) {
  momentum.lerp_(gradient, 1 - mu);
  gradient.lerp_(momentum, mu);
}

at::Tensor muon_update(const at::Tensor& direction, int64_t num_steps) {
  const bool is_tall = direction.size(0) > direction.size(1);
  at::Tensor x = is_tall ? direction.t() : direction;
  x = x / at::linalg_vector_norm(x, 2, c10::nullopt, /*keepdim=*/false, at::kDouble).clamp_min(kLeastNorm);
  for (int64_t step = 0; step < num_steps; ++step) {
    const at::Tensor gram = x.mm(x.t());
    x = at::addmm(x, at::addmm(gram, gram, gram, kB, kC), x, kA, 1);
  }
  x.mul_(kAdamWSize * std::sqrt(static_cast<double>(x.size(1))));
  return is_tall ? x.t() : x;
}

double muon_flops(int64_t rows, int64_t columns, int64_t num_steps) {
  const auto least = static_cast<double>(std::min(rows, columns)), most = static_cast<double>(std::max(rows, columns));
  return static_cast<double>(num_steps) * 2 * least * least * (2 * most + least);
}

void descend(const at::Tensor& masters, const at::Tensor& update, double decay, double lr) {
  masters.mul_(decay).sub_(update, lr);
}

void descend_split(const at::Tensor& high, const at::Tensor& low, const at::Tensor& update, double decay, double lr) {
  constexpr int64_t kBlock = int64_t{1} << 22, kHigh = int64_t{1} << 16;
  for (int64_t begin = 0; begin < high.numel(); begin += kBlock) {
    const auto block = [&](const at::Tensor& whole) {
      return whole.narrow(0, begin, std::min(kBlock, whole.numel() - begin));
    };
    const at::Tensor high_bits = block(high).view(at::kShort), low_bits = block(low);
    const at::Tensor bits = high_bits.to(at::kInt).mul_(kHigh).add_(low_bits);
    descend(bits.view(at::kFloat), block(update), decay, lr);
    low_bits.copy_(bits);  // keeps the lower 16 bits
    high_bits.copy_(bits.sub_(low_bits).div_(kHigh, "trunc"));
  }
}

}  // namespace roll
