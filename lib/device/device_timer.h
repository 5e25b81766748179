// How long a device takes for what it is given, without waiting for it.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <optional>

namespace roll {

/// From its making to stop(): on a GPU between these places of its current stream, elsewhere by the host's clock.
class DeviceTimer {
 public:
  explicit DeviceTimer(c10::Device device);
  void stop();
  /// The host must have waited for the device since stop().
  double seconds() const;

 private:
  void record(std::optional<c10::Event>& event, double& time_s);

  c10::Device device_;
  double begin_s_ = 0, end_s_ = 0;
  std::optional<c10::Event> begin_, end_;
};

}  // namespace roll
