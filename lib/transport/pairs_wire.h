// Base class of wires (wire.h) that build all collectives from one primitive: a simultaneous exchange of messages with
// other ranks. A wait always knows which ranks are missing, and two rounds suffice for each collective; but n ranks
// send n (n - 1) heads (head.h) before each. Derived: MpiPairs, and the sockets of tcp_wire.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "transport/wire.h"

namespace roll {

/// Message to send to `rank`, and buffer for a message from `rank`; ranks are the wire's.
struct Outgoing {
  int rank;
  std::span<const std::byte> bytes;
};
struct Incoming {
  int rank;
  std::span<std::byte> bytes;
};

class PairsWire : public Wire {
 public:
  /// Sends and receives all messages at once, and returns when all are sent and received. Sender and receiver must pass
  /// the same size, at most 1 GiB; messages from one rank to another keep their order. Throws SystemError at the wait's
  /// time limit, or if a peer is gone.
  virtual void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, Wait& wait) = 0;

  void meet(const Head& local, Wait& wait) override;
  std::vector<int64_t> meet_strings(const Head& local, Wait& wait) override;
  void meet_parts(const Head& local, const std::vector<int64_t>& out, const std::vector<int64_t>& in,
                  Wait& wait) override;
  void all_to_all(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in, Wait& wait) override;
  void all_gather(const at::Tensor& all, const std::vector<int64_t>& sizes, Wait& wait) override;
  void gather_at_first(const at::Tensor& local, const at::Tensor& all, Wait& wait) override;
  void broadcast(const at::Tensor& tensor, int root, Wait& wait) override;

 private:
  std::vector<Head> exchange_heads(const std::vector<Head>& local, const std::vector<int64_t>& expected, Wait& wait);
  void exchange_all(std::vector<Outgoing> out, std::vector<Incoming> in, Wait& wait);
};

}  // namespace roll
