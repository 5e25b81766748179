// Tensors written out by hand.
#pragma once

#include <ATen/ATen.h>

#include <vector>

namespace roll::testing {

inline at::Tensor list(const std::vector<double>& values) {
  return at::tensor(values, at::kFloat);
}

}  // namespace roll::testing
