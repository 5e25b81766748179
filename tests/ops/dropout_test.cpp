#include "ops/dropout.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <catch2/catch.hpp>

namespace roll {

namespace {

at::Tensor names_of(const std::vector<int64_t>& ids, uint64_t seed = 1, uint32_t step = 2) {
  return dropout_keys(at::tensor(ids, at::kLong), {0, static_cast<int64_t>(ids.size())}, seed, step);
}

}  // namespace

TEST_CASE("dropout's names follow from what a sequence has begun with, wherever it lies", "[dropout]") {
  const at::Tensor both = dropout_keys(at::tensor({5, 6, 7, 5, 6, 8, 9}, at::kLong), {0, 3, 7}, 1, 2);
  CHECK(at::equal(both.narrow(0, 0, 2), both.narrow(0, 3, 2)));
  CHECK(both[2].item<int64_t>() != both[5].item<int64_t>());
  CHECK(at::equal(both.narrow(0, 3, 4), names_of({5, 6, 8, 9})));
  CHECK(names_of({6, 6})[1].item<int64_t>() != names_of({5, 6})[1].item<int64_t>());  // not the token alone
  CHECK(names_of({0, 0})[0].item<int64_t>() != names_of({0, 0})[1].item<int64_t>());
  CHECK(names_of({5}, 1, 3)[0].item<int64_t>() != names_of({5})[0].item<int64_t>());
  CHECK(names_of({5}, 2, 2)[0].item<int64_t>() != names_of({5})[0].item<int64_t>());
}

TEST_CASE("dropout leaves out its share, scales the rest, and no cut of columns changes it", "[dropout]") {
  const at::Tensor names = names_of(std::vector<int64_t>(200, 3)), x = at::randn({200, 150});
  const DropoutRule rule{.rate = 0.3, .product = 5};
  const at::Tensor out = dropped_out(x, names, rule), kept = kept_columns(names, 150, rule);
  CHECK(at::equal(out, at::where(kept, x * static_cast<float>(1 / 0.7), at::zeros({}))));
  CHECK(std::abs(kept.to(at::kDouble).mean().item<double>() - 0.7) < 0.01);
  const DropoutRule behind{.rate = 0.3, .product = 5, .first_column = 64};
  CHECK(at::equal(dropped_out(x.narrow(1, 64, 86), names, behind), out.narrow(1, 64, 86)));
  for (const DropoutRule& other : {DropoutRule{0.3, 6, 0}, DropoutRule{0.3, 5, 1}})
    CHECK(std::abs(kept.eq(kept_columns(names, 150, other)).to(at::kDouble).mean().item<double>() - 0.58) < 0.02);
  const at::Tensor wide = x.to(at::kDouble).requires_grad_();
  dropped_out(wide, names, rule).sum().backward();
  CHECK(at::equal(wide.grad(), kept.to(at::kDouble) / 0.7));
}

}  // namespace roll
