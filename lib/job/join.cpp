#include "job/join.h"

#include <set>
#include <string>
#include <utility>

#include "base/error.h"
#include "dist/messages.h"
#include "dist/single.h"
#include "job/world.h"
#include "transport/host_communicator.h"
#include "transport/nccl_communicator.h"
#include "transport/socket.h"
#include "transport/wire.h"

namespace roll {

namespace {

std::unique_ptr<Communicator> make_host_transport(Transport kind, const World& world, double timeout_s) {
  if (kind == Transport::kSingle) return make_single_communicator();
  if (kind == Transport::kMpi) return make_host_communicator(make_mpi_wire(), timeout_s);
  const TcpStart start{world.master_address, world.master_port, world.one_host, world.job_secret};
  return make_host_communicator(make_tcp_wire(world.rank, world.size, start, timeout_s), timeout_s);
}

struct DeviceMessage {
  static constexpr MessageKind kMessage{"DEVI", 1, "devices"};
  std::string host;
  int32_t index = 0;
  template <class F>
  void fields(F& field) {
    field("host", host), field("index", index);
  }
};

/// Returns true if two ranks of one host have the same GPU, as in tests: NCCL refuses that.
bool shares_devices(Communicator& host, at::Device device) {
  std::set<std::pair<std::string, int32_t>> devices;
  for (const DeviceMessage& device_message : all_gather_messages(DeviceMessage{host_name(), device.index()}, host))
    devices.emplace(device_message.host, device_message.index);
  return std::ssize(devices) < host.size();
}

Transport launcher_transport(Launcher launcher) {
  return launcher == Launcher::kNone  ? Transport::kSingle
         : launcher == Launcher::kMpi ? Transport::kMpi
                                      : Transport::kTcp;
}

}  // namespace

std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options) {
  const World world = detect_world();
  const Transport host_kind = launcher_transport(world.launcher);
  const bool named_host = options.kind != Transport::kAuto && options.kind != Transport::kNccl;
  if (named_host && options.kind != host_kind)
    throw user_error("communicator = {}: this process was started for '{}'; use auto", enum_name(options.kind),
                     enum_name(host_kind));
  std::unique_ptr<Communicator> host = make_host_transport(host_kind, world, options.timeout_s);
  if (options.kind != Transport::kNccl) {
    const bool wants_nccl = options.kind == Transport::kAuto && options.device.is_cuda() && host->size() > 1;
    if (!wants_nccl || shares_devices(*host, options.device)) return host;
  }
  return make_nccl_communicator(std::move(host), options.device, options.timeout_s);
}

}  // namespace roll
