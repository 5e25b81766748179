#include "transport/group_store.h"

#include <ATen/ATen.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>

#include "dist/messages.h"
#include "transport/socket.h"

namespace roll {

namespace {

/// A rank's host and address, and rank 0's store.
struct StoreMessage {
  static constexpr MessageKind kMessage{"NCCL", 1, "addresses of NCCL's store"};
  std::string host, address;
  uint16_t port = 0;
  template <class F>
  void fields(F& field) {
    field("host", host), field("address", address), field("port", port);
  }
};

}  // namespace

c10::intrusive_ptr<c10d::Store> open_group_store(Communicator& host, double timeout_s) {
  c10d::TCPStoreOptions options;
  options.port = 0;
  options.isServer = host.is_first();
  options.waitWorkers = false;
  options.timeout = std::chrono::milliseconds(static_cast<int64_t>(timeout_s * 1000));
  c10::intrusive_ptr<c10d::TCPStore> store;
  if (host.is_first()) store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  const uint16_t port = store ? store->getPort() : 0;
  const std::vector<StoreMessage> ranks = all_gather_messages(StoreMessage{host_name(), own_address(), port}, host);
  if (store) return store;
  options.port = ranks[0].port;
  const bool one_host = std::ranges::all_of(ranks, [&](const auto& rank) { return rank.host == ranks[0].host; });
  return c10::make_intrusive<c10d::TCPStore>(one_host ? "127.0.0.1" : ranks[0].address, options);
}

}  // namespace roll
