#include "decode/simulated_launcher.h"

#include <ATen/ops/empty.h>

#include "cuda/sample_row_text.h"
#include "cuda/warps.h"

namespace roll {
namespace {

const char* kind_of(const UpdateSlots&) {
  return "update";
}
const char* kind_of(const CopyPages&) {
  return "copy";
}
template <class T>
const char* kind_of(const StartRows<T>&) {
  return "start";
}
template <class Kernel>
const char* kind_of(const Kernel&) {
  return "kernel";
}

}  // namespace

at::Tensor SimulatedLauncher::empty(at::IntArrayRef sizes, const at::TensorOptions& options) {
  at::Tensor memory = at::empty(sizes, options);
  if (allocated_) *allocated_ += static_cast<int64_t>(memory.nbytes());
  test::poison(memory.mutable_data_ptr(), memory.nbytes());
  return memory;
}

void SimulatedLauncher::launch(const AnyKernelOf<float>& kernel) {
  start(kernel);
}
void SimulatedLauncher::launch(const AnyKernelOf<Bf16>& kernel) {
  start(kernel);
}
void SimulatedLauncher::launch(const AnyKernelOf<Fp16>& kernel) {
  start(kernel);
}

void SimulatedLauncher::multiply(at::Tensor y, const at::Tensor& x, const at::Tensor& weight) {
  note("multiply");
  KernelLauncher::multiply(y, x, weight);
}

void SimulatedLauncher::note(const char* kind) {
  if (log_) log_->push_back(kind);
}

template <class... Kernels>
void SimulatedLauncher::start(const std::variant<Kernels...>& kernel) {
  std::visit([&](const auto& one) { run(one); }, kernel);
}

void SimulatedLauncher::run(const SampleRows& rows) {
  each_sampling_kernel<32>(rows, [&](const auto& kernel) {
    note("sample");
    test::run_kernel(kernel);
  });
}

template <class Kernel>
void SimulatedLauncher::run(const Kernel& kernel) {
  note(kind_of(kernel));
  test::run_kernel(kernel);
}

}  // namespace roll
