// Launches the kernels of cuda/ on a given device, in its current stream. LibTorch's operators select the device of
// their tensors themselves; a plain kernel launch would use the thread's current device.
#pragma once

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace roll {

/// Calls launch(stream) while `device`, a CUDA device, is the thread's current device. `stream`, a void*, is the native
/// handle (cudaStream_t) of the device's current stream.
template <class Launch>
void launch_on(at::Device device, const Launch& launch) {
  const c10::DeviceGuard guard(device);
  launch(c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle());
}

}  // namespace roll
