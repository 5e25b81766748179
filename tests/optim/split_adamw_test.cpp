// bfloat16 parameters with the low halves of their float32 masters: what LibTorch's AdamW makes of whole masters.
#include "optim/split_adamw.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "base/random.h"
#include "cuda/adamw_step.h"
#include "cuda/warps.h"
#include "optim/optimizer.h"

namespace roll {

namespace {

constexpr AdamWConfig kConfig{.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1};

/// The masters that a slice stands for, [N] float32.
at::Tensor masters_of(const SplitSlice& slice) {
  const at::Tensor masters = at::empty_like(slice.gradient);
  for (int64_t i = 0; i < masters.numel(); ++i)
    masters.data_ptr<float>()[i] =
        joined_float({static_cast<const Bf16*>(slice.high.data_ptr())[i], slice.low.data_ptr<int16_t>()[i]});
  return masters;
}

SplitSlice some_slice(int64_t n) {
  const at::Tensor zeros = at::zeros({n}, at::kFloat);
  return {at::randn({n}).to(at::kBFloat16), at::randint(-30000, 30000, {n}, at::kShort), at::randn({n}), zeros.clone(),
          zeros.clone()};
}

SplitSlice part_of(const SplitSlice& slice, int64_t begin) {
  const auto part = [&](const at::Tensor& all) { return all.narrow(0, begin, all.numel() - begin); };
  return {part(slice.high), part(slice.low), part(slice.gradient), part(slice.first_moment), part(slice.second_moment)};
}

}  // namespace

TEST_CASE("a float32 is two halves, of which the upper one is the nearest bfloat16", "[optim]") {
  const auto check = [](uint32_t bits) {
    const float x = float_from_bits(bits);
    const SplitFloat halves = split_float(x);
    INFO(x);
    REQUIRE(float_bits(joined_float(halves)) == bits);
    REQUIRE(std::abs(static_cast<double>(x) - to_float(halves.high)) <=
            std::ldexp(1.0, std::max(std::ilogb(x), -126) - 8));
  };
  for (uint32_t k = 0; k < 100'000; ++k) {
    const uint32_t bits = k * 42'949u;  // all signs and exponents
    if (std::isfinite(float_from_bits(bits + 0x8000u)) && float_from_bits(bits) != 0) check(bits);
  }
  for (const uint32_t tie : {0x3F808000u, 0x3F818000u, 0xBF808000u, 0x3F807FFFu, 0x3FFFFFFFu}) check(tie);
}

TEST_CASE("steps on two halves are LibTorch's on whole masters, bit for bit", "[optim]") {
  const int64_t n = GENERATE(1, 100, (1 << 14) + 37);
  const double scale = GENERATE(1.0, 0.25);
  const SplitSlice slice = some_slice(n);
  const at::Tensor masters = masters_of(slice), first = slice.first_moment.clone(),
                   second = slice.second_moment.clone();
  for (int64_t t = 1; t <= 3; ++t) {
    slice.gradient.normal_();
    const at::Tensor gradient = slice.gradient * scale, steps = at::full({}, static_cast<double>(t));
    at::_fused_adamw_({masters}, {gradient}, {first}, {second}, {}, {steps}, 1e-2, kConfig.beta1, kConfig.beta2, 0.1,
                      kConfig.epsilon, false, false);
    step_split(slice, kConfig, 0.1, 1e-2, scale, t);
    CHECK(at::equal(masters_of(slice), masters));
    CHECK((at::equal(slice.first_moment, first) && at::equal(slice.second_moment, second)));
  }
}

TEST_CASE("the arithmetic that a GPU runs is AdamW in float64, rounded", "[optim]") {
  const int64_t n = GENERATE(1000, 5003), begin = GENERATE(0, 1);  // where vectors begin, and where none does
  const SplitSlice slice = part_of(some_slice(begin + n), begin);
  const at::Tensor masters = masters_of(slice).to(at::kDouble);
  const at::Tensor first = at::zeros_like(masters), second = at::zeros_like(masters);
  const double lr = 1e-2, decay = 0.1, scale = 0.5;
  for (int64_t t = 1; t <= 3; ++t) {
    slice.gradient.normal_();
    const at::Tensor gradient = slice.gradient.to(at::kDouble) * scale;
    first.mul_(kConfig.beta1).add_(gradient * (1 - kConfig.beta1));
    second.mul_(kConfig.beta2).add_(gradient * gradient * (1 - kConfig.beta2));
    const double corrects_first = 1 - std::pow(kConfig.beta1, t), corrects_second = 1 - std::pow(kConfig.beta2, t);
    masters.mul_(1 - lr * decay)
        .sub_(lr / corrects_first * first / ((second / corrects_second).sqrt() + kConfig.epsilon));
    test::run_kernel(adamw_kernel(slice, kConfig, decay, lr, scale, t));
    CHECK(at::allclose(masters_of(slice).to(at::kDouble), masters, 1e-5, 1e-7));
  }
  CHECK(at::allclose(slice.second_moment.to(at::kDouble), second, 1e-6, 1e-12));
}

}  // namespace roll
