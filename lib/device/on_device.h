// Where the kernels of cuda/ run: on the device of their tensors, in its current stream. LibTorch's own operators see
// to it themselves; a launch of ours would otherwise go to the thread's device, whatever its pointers belong to.
#pragma once

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace roll {

/// launch(stream), with `device` as the thread's device until it returns or throws.
template <class Launch>
void launch_on(at::Device device, const Launch& launch) {
  const c10::DeviceGuard guard(device);
  launch(c10::impl::VirtualGuardImpl(device.type()).getStream(device).native_handle());
}

}  // namespace roll
