#include "ops/products.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/clock.h"

namespace roll {

namespace {

constexpr int64_t kSide = 256;           // rows and columns of the measured matrices, which fit the L2 cache
constexpr int kRounds = 9;               // the fastest counts: a busy machine slows some rounds, seldom all
constexpr double kClearlyFaster = 1.25;  // pays for converting float32 to bfloat16

/// Returns the speed of `other` relative to `old`.
template <class Old, class Other>
double measure_speedup(const Old& old, const Other& other) {
  double old_s = std::numeric_limits<double>::infinity(), other_s = old_s;
  const auto time = [](double& best, const auto& work) {
    const Stopwatch watch;
    work();
    best = std::min(best, watch.seconds());
  };
  for (int round = 0; round < kRounds; ++round) {
    time(old_s, old);
    time(other_s, other);
  }
  return old_s / other_s;
}

double measure_bfloat16() {
  const at::Tensor x = at::ones({kSide, kSide}), y = at::empty_like(x);
  const at::Tensor narrow_x = x.to(at::kBFloat16), narrow_y = y.to(at::kBFloat16);
  const auto multiply = [](at::Tensor out, const at::Tensor& in) { at::mm_out(out, in, in); };
  return measure_speedup([&] { multiply(y, x); }, [&] { multiply(narrow_y, narrow_x); });
}

/// Returns x w^T + bias.
at::Tensor onednn_product(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias) {
  using Product = at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, std::string_view,
                             c10::List<std::optional<at::Scalar>>, std::optional<std::string_view>);
  static const auto product =
      c10::Dispatcher::singleton().findSchemaOrThrow("mkldnn::_linear_pointwise", "").typed<Product>();
  return product.call(x, w, bias.defined() ? std::optional(bias) : std::nullopt, "none",
                      c10::List<std::optional<at::Scalar>>(), "");
}

double measure_onednn() {
  const at::NoGradGuard no_grad;
  at::Tensor x = at::ones({kSide, kSide}), y = at::empty_like(x);
  try {
    return measure_speedup([&] { at::mm_out(y, x, x); }, [&] { onednn_product(x, x, {}); });
  } catch (const c10::Error&) {  // this LibTorch lacks oneDNN
    return 0;
  }
}

enum class Decision { kOpen, kNo, kYes };
std::atomic<Decision> bfloat16_decision = Decision::kOpen, onednn_decision = Decision::kOpen;

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

double bfloat16_speedup() {
  static const double found = measure_bfloat16();
  return found;
}

bool multiplies_bfloat16() {
  if (bfloat16_decision == Decision::kOpen) multiply_bfloat16(bfloat16_speedup() > kClearlyFaster);
  return bfloat16_decision == Decision::kYes;
}

void multiply_bfloat16(bool is_enabled) {
  bfloat16_decision = is_enabled ? Decision::kYes : Decision::kNo;
}

at::Tensor multipliable(const at::Tensor& x) {
  const bool is_slow = x.defined() && x.is_cpu() && x.scalar_type() == at::kBFloat16 && !multiplies_bfloat16();
  return is_slow ? x.to(at::kFloat) : x;
}

double onednn_speedup() {
  static const double found = measure_onednn();
  return found;
}

bool multiplies_by_onednn() {
  if (onednn_decision == Decision::kOpen) multiply_by_onednn(onednn_speedup() > kClearlyFaster);
  return onednn_decision == Decision::kYes;
}

void multiply_by_onednn(bool is_enabled) {
  onednn_decision = is_enabled ? Decision::kYes : Decision::kNo;
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
