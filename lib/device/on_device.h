// Launches the kernels of cuda/ on the device of their tensors, in its current stream. LibTorch's operators select the
// device themselves; a plain kernel launch would use the thread's current device.
#pragma once

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace roll {

/// Calls launch(stream) with `device` as the thread's device.
template <class Launch>
void launch_on(at::Device device, const Launch& launch) {
  const c10::DeviceGuard guard(device);
  launch(c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle());
}

}  // namespace roll
