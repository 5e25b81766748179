// Runs a device decoder's kernels on the CPU, block after block, over poisoned memory, and notes what was launched.
#pragma once

#include <string>
#include <vector>

#include "decode/kernel_launcher.h"

namespace roll {

class SimulatedLauncher : public KernelLauncher {
 public:
  /// `log`: of every launch the kind: "update", "copy", "start", "multiply", "sample" or "kernel".
  /// `allocated`: gets the bytes of all empty() in addition.
  explicit SimulatedLauncher(std::vector<std::string>* log = nullptr, int64_t* allocated = nullptr)
      : log_(log), allocated_(allocated) {}

  int64_t num_processors() const override { return 100; }
  at::Tensor empty(at::IntArrayRef sizes, const at::TensorOptions& options) override;
  void launch(const AnyKernelOf<float>& kernel) override;
  void launch(const AnyKernelOf<Bf16>& kernel) override;
  void launch(const AnyKernelOf<Fp16>& kernel) override;
  void multiply(at::Tensor y, const at::Tensor& x, const at::Tensor& weight) override;

 private:
  void note(const char* kind);
  template <class... Kernels>
  void start(const std::variant<Kernels...>& kernel);
  void run(const SampleRows& rows);
  template <class Kernel>
  void run(const Kernel& kernel);

  std::vector<std::string>* log_;
  int64_t* allocated_;
};

}  // namespace roll
