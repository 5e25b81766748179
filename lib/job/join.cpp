#include "job/join.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "device/cuda_address.h"
#include "dist/single.h"
#include "job/shared_devices.h"
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
    if (!wants_nccl || share_devices(*host, host_name(), cuda_address(options.device.index()))) return host;
  }
  return make_nccl_communicator(std::move(host), options.device, options.timeout_s);
}

}  // namespace roll
