#include "ops/stable_rows.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

namespace roll {

at::Tensor with_stable_rows(const at::Tensor& x) {
  const int64_t least = std::max<int64_t>(32, 4 * at::get_num_threads());
  if (!x.is_cpu() || x.size(0) >= least) return x;
  std::vector<int64_t> missing = x.sizes().vec();
  missing[0] = least - x.size(0);
  return at::cat({x, at::zeros(missing, x.options())});
}

}  // namespace roll
