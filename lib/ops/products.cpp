#include "ops/products.h"

#include <ATen/native/CPUBlas.h>

namespace roll {

at::ScalarType wide_dtype(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

bool multiplies_bfloat16() {
  static const bool found = at::native::cpublas::could_pack(at::kBFloat16);
  return found;
}

at::Tensor multipliable(const at::Tensor& x) {
  const bool is_slow = x.defined() && x.is_cpu() && x.scalar_type() == at::kBFloat16 && !multiplies_bfloat16();
  return is_slow ? x.to(at::kFloat) : x;
}

}  // namespace roll
