// Addresses without memory, for kernels that must index far: what is not opened faults when it is touched.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace roll::test {

template <class T>
class Reserved {
 public:
  explicit Reserved(int64_t count) : bytes_(static_cast<size_t>(count) * sizeof(T)) {
    memory_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;
  ~Reserved() { munmap(memory_, bytes_); }

  T* data() const { return static_cast<T*>(memory_); }

  /// Makes [first, first + count) readable and writable, with what else lies on their pages of memory.
  T* open(int64_t first, int64_t count) const {
    constexpr uintptr_t kPage = 4096;
    const auto begin = reinterpret_cast<uintptr_t>(data() + first) / kPage * kPage;
    const auto end = (reinterpret_cast<uintptr_t>(data() + first + count) + kPage - 1) / kPage * kPage;
    if (mprotect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    return data() + first;
  }

 private:
  size_t bytes_;
  void* memory_;
};

}  // namespace roll::test
