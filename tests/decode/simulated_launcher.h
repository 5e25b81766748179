// Runs a device decoder's kernels on the CPU, block after block, and notes what was launched.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "cuda/sample_row_text.h"
#include "decode/kernel_launcher.h"
#include "ops/simulated_block.h"

namespace roll {

class SimulatedLauncher : public KernelLauncher {
 public:
  /// `log`: of every launch the kind: "update", "copy", "start", "multiply", "sample" or "kernel".
  explicit SimulatedLauncher(std::vector<std::string>* log = nullptr) : log_(log) {}

  void launch(const AnyKernelOf<float>& kernel) override { start(kernel); }
  void launch(const AnyKernelOf<Bf16>& kernel) override { start(kernel); }
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
    note("sample");
    SampleShared shared;
    for (int64_t i = 0; i < rows.rows; ++i) {
      std::memset(&shared, 0xFF, sizeof shared);
      sample_row_of(SimulatedBlock(64, i % 2 == 1), shared, rows, i);
    }
  }

  template <class Kernel>
  void run(const Kernel& kernel) {
    note(kind_of(kernel));
    typename Kernel::Shared shared;
    for (int64_t i = kernel.num_blocks(); i-- > 0;) {
      std::memset(&shared, 0xFF, sizeof shared);  // what was never written must not matter
      kernel.run(SimulatedBlock(Kernel::kLanes, i % 2 == 1), shared, i);
    }
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
