// Memory of the CPU decoder for weights and KV pages, which every step reads in full. It asks the kernel for huge
// pages, which save TLB misses (measured: reading weights is 10 to 30 % faster).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace roll {

class StreamedMemory {
 public:
  /// Reserves `bytes` in all: the sum of room_for() over the tensors to take().
  explicit StreamedMemory(int64_t bytes);
  static int64_t room_for(int64_t bytes);

  /// Returns an uninitialised tensor; its pages are allocated when first written. Bug: too few bytes are reserved.
  at::Tensor take(at::IntArrayRef sizes, at::ScalarType dtype);

 private:
  at::Tensor all_;  // uint8
  int64_t used_ = 0;
};

}  // namespace roll
