// Memory that is read from end to end in every step: weights and KV pages. In huge pages where the kernel gives them,
// which saves the processor most of the time of finding its way (measured: reading weights is 10 to 30 % faster).
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace roll {

class StreamedMemory {
 public:
  /// Room for take() of so many bytes in all, each rounded up by room_for().
  explicit StreamedMemory(int64_t bytes);
  static int64_t room_for(int64_t bytes);

  /// Not initialised; its pages become memory when they are first written.
  at::Tensor take(at::IntArrayRef sizes, at::ScalarType dtype);

 private:
  at::Tensor all_;  // uint8
  int64_t used_ = 0;
};

}  // namespace roll
