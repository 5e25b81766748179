#include "ops/products.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/clock.h"

namespace roll {

namespace {

constexpr int64_t kSide = 256;           // of the matrices that are tried: they stay in the second-level cache
constexpr int kRounds = 9;               // whose fastest counts: a busy machine slows some of them, seldom all
constexpr double kClearlyFaster = 1.25;  // what converting float32 to bfloat16 costs is made up for

double measure_speedup() {
  const at::Tensor x = at::ones({kSide, kSide}), y = at::empty_like(x);
  const at::Tensor narrow_x = x.to(at::kBFloat16), narrow_y = y.to(at::kBFloat16);
  double wide_s = std::numeric_limits<double>::infinity(), narrow_s = wide_s;
  const auto time = [](double& best, at::Tensor out, const at::Tensor& in) {
    const Stopwatch watch;
    at::mm_out(out, in, in);
    best = std::min(best, watch.seconds());
  };
  for (int round = 0; round < kRounds; ++round) {
    time(wide_s, y, x);
    time(narrow_s, narrow_y, narrow_x);
  }
  return wide_s / narrow_s;
}

enum class Decision { kOpen, kNo, kYes };
std::atomic<Decision> decision = Decision::kOpen;

}  // namespace

at::ScalarType wide_dtype(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

double bfloat16_speedup() {
  static const double found = measure_speedup();
  return found;
}

bool multiplies_bfloat16() {
  if (decision == Decision::kOpen) multiply_bfloat16(bfloat16_speedup() > kClearlyFaster);
  return decision == Decision::kYes;
}

void multiply_bfloat16(bool as_such) {
  decision = as_such ? Decision::kYes : Decision::kNo;
}

at::Tensor multipliable(const at::Tensor& x) {
  const bool is_slow = x.defined() && x.is_cpu() && x.scalar_type() == at::kBFloat16 && !multiplies_bfloat16();
  return is_slow ? x.to(at::kFloat) : x;
}

at::Tensor matrix_product(const at::Tensor& a, const at::Tensor& b) {
  return at::mm(multipliable(a), multipliable(b)).to(a.scalar_type());
}

}  // namespace roll
