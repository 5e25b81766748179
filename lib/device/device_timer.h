// Measures how long work takes on a device, without making the host wait for it; used by optim/learner.cpp.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <optional>

namespace roll {

/// Measures the time from construction to stop(): on a CUDA device by events in its current stream, elsewhere by the
/// host's clock.
class DeviceTimer {
 public:
  explicit DeviceTimer(c10::Device device);
  /// Ends the measured time. On a GPU, it includes all work launched in the stream before this call. Call it once,
  /// before seconds().
  void stop();
  /// Returns the measured seconds. On a GPU, the host must have waited for the stream after stop().
  double seconds() const;

 private:
  void record(std::optional<c10::Event>& event, double& time_s);

  c10::Device device_;
  double begin_s_ = 0, end_s_ = 0;
  std::optional<c10::Event> begin_, end_;
};

}  // namespace roll
