#include "device/on_device.h"

#include <catch2/catch.hpp>
#include <stdexcept>

#include "device/two_devices.h"
#include "model/device.h"

namespace roll {

using test::device_number;
using test::TwoDevices;

TEST_CASE("a kernel is launched on the device of its tensors, in that device's stream", "[device]") {
  const test::KnownDevices known;
  for (const c10::DeviceIndex thread : {0, 1})
    for (const c10::DeviceIndex tensor : {0, 1}) {
      use_device(device_number(thread));
      REQUIRE(TwoDevices::current == thread);
      launch_on(device_number(tensor), [&](void* stream) {
        CHECK(TwoDevices::current == tensor);
        CHECK(stream == &TwoDevices::handles[tensor]);
      });
      CHECK(TwoDevices::current == thread);
      CHECK_THROWS(launch_on(device_number(tensor), [](void*) { throw std::runtime_error("launch failed"); }));
      CHECK(TwoDevices::current == thread);
    }
}

TEST_CASE("the CPU has no current device to set", "[device]") {
  use_device(at::kCPU);
}

}  // namespace roll
