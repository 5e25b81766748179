#pragma once

#include "ops/products.h"

namespace roll::test {

/// The CPU multiplies bfloat16 as such, or in float32, while this lives, and float32 by LibTorch's own products or by
/// oneDNN's.
class Multiplying {
 public:
  explicit Multiplying(bool as_such, bool by_onednn = false) {
    multiply_bfloat16(as_such);
    multiply_by_onednn(by_onednn);
  }
  Multiplying(const Multiplying&) = delete;
  ~Multiplying() {
    multiply_bfloat16(before_);
    multiply_by_onednn(by_onednn_before_);
  }

 private:
  bool before_ = multiplies_bfloat16(), by_onednn_before_ = multiplies_by_onednn();
};

}  // namespace roll::test
