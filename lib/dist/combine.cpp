#include "dist/combine.h"

#include <ATen/ATen.h>

namespace roll {

void combine(const std::vector<at::Tensor>& parts, Reduce op, at::Tensor& result) {
  const bool narrow = is_narrow(result.scalar_type());
  at::Tensor total = narrow ? parts[0].to(at::kFloat) : parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    const at::Tensor part = narrow ? parts[i].to(at::kFloat) : parts[i];
    if (op == Reduce::kSum) total.add_(part);
    if (op == Reduce::kMax) at::maximum_out(total, total, part);
    if (op == Reduce::kMin) at::minimum_out(total, total, part);
  }
  if (!total.is_same(result)) result.copy_(total);
}

}  // namespace roll
