#include "ops/streamed_memory.h"

#include <ATen/ATen.h>
#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include "base/error.h"

namespace roll {

namespace {

constexpr int64_t kHugePage = int64_t{2} << 20, kAlignment = 4096;

int64_t rounded(int64_t bytes, int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

StreamedMemory::StreamedMemory(int64_t bytes) {
  const int64_t size = rounded(std::max<int64_t>(bytes, 1), bytes < kHugePage ? kAlignment : kHugePage);
  void* const data = std::aligned_alloc(bytes < kHugePage ? kAlignment : kHugePage, size);
  if (!data) throw std::bad_alloc();
  ::madvise(data, size, MADV_HUGEPAGE);  // best effort: on failure only slower
  all_ = at::from_blob(
      data, {size}, [](void* memory) { std::free(memory); }, at::kByte);
}

int64_t StreamedMemory::room_for(int64_t bytes) {
  return rounded(bytes, kAlignment);
}

at::Tensor StreamedMemory::take(at::IntArrayRef sizes, at::ScalarType dtype) {
  const int64_t bytes = c10::multiply_integers(sizes) * static_cast<int64_t>(at::elementSize(dtype));
  ROLL_CHECK(used_ + bytes <= all_.numel(), "the reserved bytes cover every tensor");
  const at::Tensor taken = all_.narrow(0, used_, bytes).view(dtype).view(sizes);
  used_ += room_for(bytes);
  return taken;
}

}  // namespace roll
