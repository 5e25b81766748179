// LibTorch's grouped products on the fake device: the host's products, of what CUDA's would take, and no more written
// than they write.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "ops/fake_device.h"

namespace roll {

namespace {

/// What CUDA's grouped products demand of matrices of bfloat16: whether columns are contiguous.
bool is_transposed(const at::Tensor& x) {
  const int64_t rows = x.size(-2), columns = x.size(-1), down = x.stride(-2), along = x.stride(-1);
  TORCH_CHECK(x.scalar_type() == at::kBFloat16 && reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0);
  const bool transposed = down == 1 && along >= rows;
  TORCH_CHECK(transposed || (along == 1 && down >= columns), "strides ", x.strides(), " of ", x.sizes());
  TORCH_CHECK((transposed ? along : down) % 8 == 0, "rows must begin at 16 bytes, strides ", x.strides());
  return transposed;
}

/// As CUDA's: rows, or what is summed over, by where groups end, which it reads on the device. Nothing is
/// written of what no group has, as on some GPUs.
at::Tensor grouped_mm(const at::Tensor& a, const at::Tensor& b, const std::optional<at::Tensor>& ends,
                      const std::optional<at::Tensor>&, std::optional<at::ScalarType>) {
  test::count_launch("aten::_grouped_mm");
  TORCH_CHECK(a.numel() > 0 && b.numel() > 0, "of no rows nobody says what it does");
  const bool sums_rows = b.dim() == 2;
  const bool a_transposed = is_transposed(a), b_transposed = is_transposed(b);
  TORCH_CHECK(ends->scalar_type() == at::kInt && ends->dim() == 1 && ends->device() == a.device() && a.dim() == 2);
  TORCH_CHECK(sums_rows ? a_transposed && !b_transposed && a.size(1) == b.size(0)
                        : !a_transposed && a.size(1) == b.size(1) && ends->size(0) == b.size(0));
  const at::Tensor x = test::memory_of(a).to(at::kFloat), w = test::memory_of(b).to(at::kFloat);
  std::vector<int64_t> sizes = {a.size(0), b.size(-1)};
  if (sums_rows) sizes.insert(sizes.begin(), ends->size(0));
  const at::Tensor out = at::full(sizes, std::nan(""), at::kFloat);
  int64_t first = 0;
  for (int64_t g = 0; g < ends->size(0); ++g) {
    const int64_t count = test::memory_of(*ends)[g].item<int32_t>() - first;
    TORCH_CHECK(count >= 0 && first + count <= (sums_rows ? a.size(1) : a.size(0)));
    if (sums_rows && count > 0)
      out[g].copy_(at::mm(x.narrow(1, first, count), w.narrow(0, first, count)));
    else if (count > 0)
      out.narrow(0, first, count).copy_(at::mm(x.narrow(0, first, count), w[g]));
    first += count;
  }
  const at::Tensor there = at::empty(out.sizes(), a.options());
  test::memory_of(there).copy_(out);
  return there;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_grouped_mm", &grouped_mm);
}

}  // namespace

TEST_CASE("the fake device's grouped products are those of groups, of what CUDA's take", "[ops]") {
  const auto there = [](const at::Tensor& x) { return x.to(test::fake_device()); };
  const at::Tensor x = at::randn({9, 16}).to(at::kBFloat16), w = at::randn({3, 16, 8}).to(at::kBFloat16);
  const at::Tensor ends = there(at::tensor({4, 4, 9}, at::kInt)), own_x = there(x);
  const at::Tensor y = at::_grouped_mm(own_x, there(w), ends).cpu();
  CHECK(at::allclose(y.narrow(0, 0, 4), at::mm(x.narrow(0, 0, 4), w[0]), 1e-2, 1e-2));
  CHECK(at::allclose(y.narrow(0, 4, 5), at::mm(x.narrow(0, 4, 5), w[2]), 1e-2, 1e-2));
  const at::Tensor sums = at::_grouped_mm(own_x.t(), own_x, ends).cpu();
  CHECK(at::allclose(sums[0], at::mm(x.narrow(0, 0, 4).t(), x.narrow(0, 0, 4)), 1e-2, 1e-2));
  CHECK(sums[1].isnan().all().item<bool>());
  CHECK_THROWS(at::_grouped_mm(own_x.to(at::kFloat), there(w).to(at::kFloat), ends));
  CHECK_THROWS(at::_grouped_mm(own_x, there(w), ends.to(at::kLong)));
  CHECK_THROWS(at::_grouped_mm(own_x.t().contiguous().t(), own_x, ends));                      // sums of rows
  CHECK_THROWS(at::_grouped_mm(there(at::randn({9, 12}).to(at::kBFloat16)), there(w), ends));  // 24 bytes
  CHECK_THROWS(at::_grouped_mm(own_x, there(w), there(at::tensor({4, 4, 10}, at::kInt))));
}

}  // namespace roll
