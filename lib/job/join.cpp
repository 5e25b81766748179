#include "job/join.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "dist/single.h"
#include "job/world.h"
#include "transport/host_communicator.h"
#include "transport/nccl_communicator.h"
#include "transport/socket.h"
#include "transport/wire.h"

namespace roll {

namespace {

std::unique_ptr<Communicator> make_host(const std::string& kind, const World& world, double timeout_s) {
  if (kind == "single") return make_single_communicator();
  if (kind == "mpi") return make_host_communicator(make_mpi_wire(), timeout_s);
  return make_host_communicator(
      make_tcp_wire(world.rank, world.size, world.master_address, world.master_port, timeout_s), timeout_s);
}

/// Whether two ranks of one host have the same GPU, as in tests: NCCL refuses that.
bool shares_devices(Communicator& host, at::Device device) {
  const std::vector<std::string> all =
      host.all_gather_bytes(fmt::format("{} {}", host_name(), static_cast<int>(device.index())), "devices");
  return std::set<std::string>(all.begin(), all.end()).size() < all.size();
}

const char* kind_of(Launcher launcher) {
  return launcher == Launcher::kNone ? "single" : launcher == Launcher::kMpi ? "mpi" : "tcp";
}

}  // namespace

std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options) {
  static const std::vector<std::string> kKinds = {"auto", "single", "mpi", "tcp", "nccl"};
  if (std::find(kKinds.begin(), kKinds.end(), options.kind) == kKinds.end())
    throw user_error("communicator = {}: must be one of auto, single, mpi, tcp, nccl{}", options.kind,
                     did_you_mean(options.kind, kKinds));
  const World world = detect_world();
  const std::string host_kind = kind_of(world.launcher);
  const bool named_host = options.kind != "auto" && options.kind != "nccl";
  if (named_host && options.kind != host_kind)
    throw user_error("communicator = {}: this process was started for '{}' (world.h); use auto", options.kind,
                     host_kind);
  std::unique_ptr<Communicator> host = make_host(host_kind, world, options.timeout_s);
  if (options.kind != "nccl") {
    const bool wants_nccl = options.kind == "auto" && options.device.is_cuda() && host->size() > 1;
    if (!wants_nccl || shares_devices(*host, options.device)) return host;
  }
  return make_nccl_communicator(std::move(host), options.device, options.timeout_s);
}

}  // namespace roll
