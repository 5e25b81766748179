// Measures the time of work on a device, without waiting for the device.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <optional>

namespace roll {

/// Times from construction to stop(): on a GPU by events in the current stream, elsewhere by the host's clock.
class DeviceTimer {
 public:
  explicit DeviceTimer(c10::Device device);
  void stop();
  /// Returns the measured time. The host must have synchronized with the device after stop().
  double seconds() const;

 private:
  void record(std::optional<c10::Event>& event, double& time_s);

  c10::Device device_;
  double begin_s_ = 0, end_s_ = 0;
  std::optional<c10::Event> begin_, end_;
};

}  // namespace roll
