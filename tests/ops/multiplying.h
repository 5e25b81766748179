#pragma once

#include "ops/products.h"

namespace roll::test {

/// The CPU multiplies bfloat16 as such, or in float32, while this lives.
class Multiplying {
 public:
  explicit Multiplying(bool as_such) { multiply_bfloat16(as_such); }
  Multiplying(const Multiplying&) = delete;
  ~Multiplying() { multiply_bfloat16(before_); }

 private:
  bool before_ = multiplies_bfloat16();
};

}  // namespace roll::test
