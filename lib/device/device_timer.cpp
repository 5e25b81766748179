#include "device/device_timer.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/clock.h"

namespace roll {

DeviceTimer::DeviceTimer(c10::Device device) : device_(device) {
  record(begin_, begin_s_);
}

void DeviceTimer::stop() {
  record(end_, end_s_);
}

double DeviceTimer::seconds() const {
  return begin_ && end_ ? begin_->elapsedTime(*end_) * 1e-3 : end_s_ - begin_s_;
}

void DeviceTimer::record(std::optional<c10::Event>& event, double& time_s) {
  time_s = monotonic_s();
  if (!device_.is_cuda()) return;
  event.emplace(device_.type(), c10::EventFlag::BACKEND_DEFAULT);
  event->record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
}

}  // namespace roll
