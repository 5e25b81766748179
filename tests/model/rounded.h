// A model with its weights rounded to bfloat16, computing in float32 or in bfloat16.
#pragma once

#include "checkpoint/temporary_folder.h"
#include "model/transformer.h"

namespace roll::test {

class Rounded {
 public:
  explicit Rounded(const Transformer& model) { model.save(folder_ / "m", {.dtype = at::kBFloat16}); }
  Transformer in(at::ScalarType dtype) const { return Transformer::load(folder_ / "m", at::kCPU, dtype); }

 private:
  TemporaryFolder folder_;
};

}  // namespace roll::test
