#include "decode/kernel_launcher.h"

#include <ATen/ATen.h>

#include "device/on_device.h"

namespace roll {

namespace {

class CudaLauncher : public KernelLauncher {
 public:
  explicit CudaLauncher(at::Device device) : device_(device), num_processors_(count_processors(device)) {}
  int64_t num_processors() const override { return num_processors_; }
  void launch(const AnyKernelOf<float>& kernel) override { start(kernel); }
  void launch(const AnyKernelOf<Bf16>& kernel) override { start(kernel); }
  void launch(const AnyKernelOf<Fp16>& kernel) override { start(kernel); }

 private:
  template <class Kernel>
  void start(const Kernel& kernel) {
    launch_on(device_, [&](void* stream) { cuda::launch_kernel(kernel, stream); });
  }

  at::Device device_;
  int64_t num_processors_;
};

}  // namespace

at::Tensor KernelLauncher::empty(at::IntArrayRef sizes, const at::TensorOptions& options) {
  return at::empty(sizes, options);
}

void KernelLauncher::multiply(at::Tensor y, const at::Tensor& x, const at::Tensor& weight) {
  if (y.scalar_type() == x.scalar_type())
    at::mm_out(y, x, weight.t());
  else if (x.is_cuda())
    at::mm_out(y, x, weight.t(), y.scalar_type());
  else
    at::mm_out(y, x.to(y.scalar_type()), weight.to(y.scalar_type()).t());
}

int64_t count_processors(at::Device device) {
  int64_t count = 0;
  launch_on(device, [&](void*) { count = cuda::count_processors(); });
  return count;
}

std::unique_ptr<KernelLauncher> make_cuda_launcher(at::Device device) {
  return std::make_unique<CudaLauncher>(device);
}

}  // namespace roll
