#include "ops/products.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <atomic>

namespace roll {

namespace {

/// Returns x w^T + bias.
at::Tensor onednn_product(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias) {
  using Product = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view,
                             c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);
  static const auto product =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_linear_pointwise", "").typed<Product>();
  return product.call(x, w, bias.defined() ? std::optional(bias) : std::nullopt, "none",
                      c10::List<std::optional<at::Scalar>>(), "");
}

bool has_onednn() {
  return c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""}).has_value();
}

std::atomic<bool>& bfloat16_choice() {
  static std::atomic<bool> choice = has_bfloat16_units();
  return choice;
}

std::atomic<bool>& onednn_choice() {
  static std::atomic<bool> choice = is_for_onednn();
  return choice;
}

/// True if oneDNN computes x [M, K] times a matrix with `columns` columns.
bool uses_onednn(const at::Tensor& x, const at::Tensor& w, int64_t columns) {
  constexpr int64_t kFew = int64_t{1} << 23;  // multiply-adds; below, finding the kernel takes too long
  return x.is_cpu() && x.scalar_type() == at::kFloat && w.scalar_type() == at::kFloat && x.dim() == 2 &&
         x.numel() * columns >= kFew && multiplies_by_onednn();
}

}  // namespace

at::ScalarType wide_dtype(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

bool has_bfloat16_units() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512bf16") && has_onednn();  // processors with AMX have it, too
#else
  return false;
#endif
}

bool is_for_onednn() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx512f") && !__builtin_cpu_is("intel") && has_onednn();
#else
  return false;
#endif
}

bool multiplies_bfloat16() {
  return bfloat16_choice();
}

void multiply_bfloat16(bool is_enabled) {
  bfloat16_choice() = is_enabled;
}

at::Tensor multipliable(const at::Tensor& x) {
  const bool is_slow = x.defined() && x.is_cpu() && x.scalar_type() == at::kBFloat16 && !multiplies_bfloat16();
  return is_slow ? x.to(at::kFloat) : x;
}

bool multiplies_by_onednn() {
  return onednn_choice();
}

void multiply_by_onednn(bool is_enabled) {
  onednn_choice() = is_enabled;
}

at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = multipliable(a), y = multipliable(b);
  return (uses_onednn(x, y, y.size(1)) ? onednn_product(x, y.t(), {}) : at::mm(x, y)).to(a.scalar_type());
}

at::Tensor linear_product(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias) {
  if (uses_onednn(x, w, w.size(0))) return onednn_product(x, w, bias);
  return at::linear(x, w, bias.defined() ? std::optional(bias) : std::nullopt);
}

void linear_product_out(at::Tensor into, const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias) {
  if (uses_onednn(x, w, w.size(0)))
    into.copy_(onednn_product(x, w, bias));
  else if (bias.defined())
    at::addmm_out(into, bias, x, w.t());
  else
    at::mm_out(into, x, w.t());
}

void add_product(at::Tensor sum, const at::Tensor& d, const at::Tensor& x) {
  constexpr int64_t kAdded = int64_t{1} << 20;  // elements per block, which stay in a cache
  if (!uses_onednn(x, d, d.size(1))) {
    sum.addmm_(d.t(), x);
    return;
  }
  const int64_t rows = std::max<int64_t>(64, kAdded / x.size(1));
  for (int64_t first = 0; first < sum.size(0); first += rows) {
    const int64_t count = std::min(rows, sum.size(0) - first);
    sum.narrow(0, first, count).add_(onednn_product(d.narrow(1, first, count).t(), x.t(), {}));
  }
}

}  // namespace roll
