#include "job/shared_devices.h"

#include <set>
#include <utility>

#include "dist/messages.h"

namespace roll {

namespace {

struct DeviceMessage {
  static constexpr MessageKind kMessage{"DEVI", 2, "devices"};
  std::string host, bus, uuid;
  template <class F>
  void fields(F& field) {
    field("host", host), field("bus", bus), field("uuid", uuid);
  }
};

}  // namespace

bool share_devices(Communicator& ranks, const std::string& host_name, const CudaAddress& own) {
  std::set<std::string> uuids;
  std::set<std::pair<std::string, std::string>> places;
  for (const DeviceMessage& device : all_gather_messages(DeviceMessage{host_name, own.bus, own.uuid}, ranks)) {
    uuids.insert(device.uuid);
    places.emplace(device.host, device.bus);
  }
  return std::ssize(uuids) < ranks.size() || std::ssize(places) < ranks.size();
}

}  // namespace roll
