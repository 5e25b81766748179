#include "device/on_device.h"

#include <c10/core/Stream.h>

#include <catch2/catch.hpp>
#include <stdexcept>

#include "model/device.h"

namespace roll {

namespace {

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
class Known {
 public:
  Known() { entry() = &devices_; }
  ~Known() { entry() = before_; }

 private:
  static std::atomic<const c10::impl::DeviceGuardImplInterface*>& entry() {
    return c10::impl::device_guard_impl_registry.at(static_cast<size_t>(c10::DeviceType::PrivateUse1));
  }
  const c10::impl::DeviceGuardImplInterface* before_ = entry();
  TwoDevices devices_;
};

c10::Device number(c10::DeviceIndex index) {
  return {c10::DeviceType::PrivateUse1, index};
}

}  // namespace

TEST_CASE("a kernel is launched on the device of its tensors, in that device's stream", "[device]") {
  const Known known;
  for (const c10::DeviceIndex thread : {0, 1})
    for (const c10::DeviceIndex tensor : {0, 1}) {
      use_device(number(thread));
      REQUIRE(TwoDevices::current == thread);
      launch_on(number(tensor), [&](void* stream) {
        CHECK(TwoDevices::current == tensor);
        CHECK(stream == &TwoDevices::handles[tensor]);
      });
      CHECK(TwoDevices::current == thread);
      CHECK_THROWS(launch_on(number(tensor), [](void*) { throw std::runtime_error("launch failed"); }));
      CHECK(TwoDevices::current == thread);
    }
}

TEST_CASE("the CPU has no current device to set", "[device]") {
  use_device(at::kCPU);
}

}  // namespace roll
