// Launches the kernels of cuda/ on the device of their tensors, in its current stream. LibTorch's operators do this
// themselves; a plain launch would go to the thread's device.
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
