// Fibres: pieces of a program that run in turns on one thread, each on its own stack. A switch saves what the x86-64
// calling convention wants kept and nothing else: swapcontext's system call would take most of a simulated kernel's
// time.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace roll::test {

/// Saves this stack's place in *from and goes on at `to`.
__attribute__((naked, noinline)) inline void switch_stack(void** /*from*/, void* /*to*/) {
  asm("pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
      "movq %rsp, (%rdi)\n\tmovq %rsi, %rsp\n\t"
      "popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\tretq");
}

/// Stacks with a page behind each that faults. One thread's.
class Fibres {
 public:
  explicit Fibres(int count) : places_(new void*[static_cast<size_t>(count)]), count_(count) {
    void* const memory = mmap(nullptr, kBytes * static_cast<size_t>(count), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<char*>(memory);
    for (int i = 0; i < count; ++i) mprotect(memory_ + kBytes * static_cast<size_t>(i), 4096, PROT_NONE);
  }
  Fibres(const Fibres&) = delete;
  Fibres& operator=(const Fibres&) = delete;
  ~Fibres() {
    munmap(memory_, kBytes * static_cast<size_t>(count_));
    delete[] places_;
  }

  /// The next resume(i) begins `entry`, which must never return.
  void begin(int i, void (*entry)()) {
    forget(i);
    auto** top = reinterpret_cast<void**>(memory_ + kBytes * static_cast<size_t>(i + 1)) - 1;
    *--top = reinterpret_cast<void*>(entry);  // where the stack is as behind a call
    for (int kept = 0; kept < 6; ++kept) *--top = nullptr;
    places_[i] = top;
  }

  void resume(int i) {
    leave(memory_ + kBytes * static_cast<size_t>(i), kBytes);
    switch_stack(&caller_, places_[i]);
    arrive(nullptr, nullptr);
  }

  /// Back to who resumed fibre i, from within it.
  void suspend(int i) {
    leave(caller_stack_, caller_bytes_);
    switch_stack(&places_[i], caller_);
    arrived();
  }

  /// To be called first by an entry.
  void arrived() { arrive(&caller_stack_, &caller_bytes_); }

 private:
  static constexpr size_t kBytes = 128 << 10;

#ifdef __SANITIZE_ADDRESS__
  static void leave(const void* bottom, size_t bytes) {
    __sanitizer_start_switch_fiber(nullptr, bottom, bytes);
  }
  static void arrive(const void** bottom, size_t* bytes) {
    __sanitizer_finish_switch_fiber(nullptr, bottom, bytes);
  }
  /// What a fibre that never returned left on the stack.
  void forget(int i) const {
    __asan_unpoison_memory_region(memory_ + kBytes * static_cast<size_t>(i) + 4096, kBytes - 4096);
  }
#else
  static void leave(const void*, size_t) {}
  static void arrive(const void**, size_t*) {}
  static void forget(int) {}
#endif

  char* memory_ = nullptr;
  void** places_;  // of the stacks
  int count_;
  void* caller_ = nullptr;
  const void* caller_stack_ = nullptr;
  size_t caller_bytes_ = 0;
};

}  // namespace roll::test
