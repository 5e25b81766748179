// Uses c10d's ProcessGroupNCCL with its watchdog; compiled only with CUDA (else nccl_absent.cpp).
#include "transport/nccl_communicator.h"

#include <ATen/ATen.h>
#include <cuda_runtime_api.h>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "base/env.h"
#include "base/error.h"
#include "device/cuda_library.h"
#include "transport/device_communicator.h"
#include "transport/group_store.h"

namespace roll {

namespace {

c10::intrusive_ptr<c10d::Backend> start_nccl(Communicator& host, at::Device device, double timeout_s) {
  try {
    const auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = std::chrono::milliseconds(static_cast<int64_t>(timeout_s * 1000));
    auto group = c10::make_intrusive<c10d::ProcessGroupNCCL>(open_group_store(host, timeout_s), host.rank(),
                                                             host.size(), options);
    group->setBoundDeviceId(device);
    return group;
  } catch (const c10::Error& error) {
    throw system_error("device {}: NCCL cannot start: {}", device.str(), error.what_without_backtrace());
  }
}

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(std::unique_ptr<Communicator> host, at::Device device,
                                                     double timeout_s) {
  // Gradients are summed over one group while backward computes and another group sums its activations. NCCL's kernels
  // wait on the GPU for other ranks' kernels, so two groups that start in different orders on two ranks may deadlock.
  // NCCL must therefore launch in the order of our calls, which is equal on all ranks. It reads this variable once,
  // before its first kernel.
  if (!env("NCCL_LAUNCH_ORDER_IMPLICIT")) set_env("NCCL_LAUNCH_ORDER_IMPLICIT", "1");
  if (!device.has_index()) device = at::Device(device.type(), 0);
  return make_device_communicator(std::move(host), device, [device, timeout_s](Communicator& ranks) {
    return start_nccl(ranks, device, timeout_s);
  });
}

std::string nccl_version() {
  return cuda_library_is_loaded() ? c10d::getNcclVersion() : "not loaded, because there is no NVIDIA driver";
}

std::string cuda_version() {
  int code = 0;
  if (cudaRuntimeGetVersion(&code) != cudaSuccess) return "unknown";
  return fmt::format("{}.{}", code / 1000, code % 1000 / 10);
}

}  // namespace roll
