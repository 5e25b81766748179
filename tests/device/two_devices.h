// Two devices of a kind that LibTorch knows (PrivateUse1), for where work is sent: they compute nothing.
#pragma once

#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>

namespace roll::test {

/// Two devices that only remember which one is current; a stream's handle is the address of its device's number.
struct TwoDevices : c10::impl::DeviceGuardImplInterface {
  static inline thread_local c10::DeviceIndex current = 0;
  static inline int handles[2] = {};

  c10::DeviceType type() const override { return c10::DeviceType::PrivateUse1; }
  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device old = getDevice();
    setDevice(device);
    return old;
  }
  c10::Device getDevice() const override { return {type(), current}; }
  void setDevice(c10::Device device) const override { current = device.index(); }
  void uncheckedSetDevice(c10::Device device) const noexcept override { current = device.index(); }
  c10::Stream getStream(c10::Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return 2; }
  void* getStreamNativeHandle(const c10::Stream stream) const override { return &handles[stream.device_index()]; }
};

/// LibTorch knows the two devices for as long as this lives.
class KnownDevices {
 public:
  KnownDevices() { entry() = &devices_; }
  ~KnownDevices() { entry() = before_; }

 private:
  static std::atomic<const c10::impl::DeviceGuardImplInterface*>& entry() {
    return c10::impl::device_guard_impl_registry.at(static_cast<size_t>(c10::DeviceType::PrivateUse1));
  }
  const c10::impl::DeviceGuardImplInterface* before_ = entry();
  TwoDevices devices_;
};

inline c10::Device device_number(c10::DeviceIndex index) {
  return {c10::DeviceType::PrivateUse1, index};
}

}  // namespace roll::test
