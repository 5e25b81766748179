// Runs a device decoder's kernels on the CPU, block after block, over poisoned memory, and notes what was launched.
#pragma once

#include <string>
#include <vector>

#include <ATen/ops/empty.h>

#include "cuda/sample_row_text.h"
#include "cuda/warps.h"
#include "decode/kernel_launcher.h"

namespace roll {

class SimulatedLauncher : public KernelLauncher {
 public:
  /// `log`: of every launch the kind: "update", "copy", "start", "multiply", "sample" or "kernel".
  explicit SimulatedLauncher(std::vector<std::string>* log = nullptr) : log_(log) {}

  int64_t num_processors() const override { return 100; }

  at::Tensor empty(at::IntArrayRef sizes, const at::TensorOptions& options) override {
    at::Tensor memory = at::empty(sizes, options);
    test::poison(memory.mutable_data_ptr(), memory.nbytes());
    return memory;
  }
  void launch(const AnyKernelOf<float>& kernel) override { start(kernel); }
  void launch(const AnyKernelOf<Bf16>& kernel) override { start(kernel); }
  void launch(const AnyKernelOf<Fp16>& kernel) override { start(kernel); }
  void multiply(at::Tensor y, const at::Tensor& x, const at::Tensor& weight) override {
    note("multiply");
    KernelLauncher::multiply(y, x, weight);
  }

 private:
  void note(const char* kind) {
    if (log_) log_->push_back(kind);
  }

  template <class... Kernels>
  void start(const std::variant<Kernels...>& kernel) {
    std::visit([&](const auto& one) { run(one); }, kernel);
  }

  void run(const SampleRows& rows) {
    each_sampling_kernel<32>(rows, [&](const auto& kernel) {
      note("sample");
      test::run_kernel(kernel);
    });
  }

  template <class Kernel>
  void run(const Kernel& kernel) {
    note(kind_of(kernel));
    test::run_kernel(kernel);
  }

  static const char* kind_of(const UpdateSlots&) { return "update"; }
  static const char* kind_of(const CopyPages&) { return "copy"; }
  template <class T>
  static const char* kind_of(const StartRows<T>&) {
    return "start";
  }
  template <class Kernel>
  static const char* kind_of(const Kernel&) {
    return "kernel";
  }

  std::vector<std::string>* log_;
};

}  // namespace roll
