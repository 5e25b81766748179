// Base class of wires (wire.h) that build all transfers from one primitive: a simultaneous exchange of messages with
// other ranks. Advantages: a wait always knows which ranks are missing, and a collective takes two rounds, heads and
// data. Cost: n ranks send n (n - 1) heads (head.h) before each collective. Derived classes: MpiPairs, and the sockets
// of tcp_wire.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "transport/wire.h"

namespace roll {

/// Message to send. rank: the receiver's rank in the wire.
struct Outgoing {
  int rank;
  std::span<const std::byte> bytes;
};
/// Buffer for a message to receive. rank: the sender's rank in the wire.
struct Incoming {
  int rank;
  std::span<std::byte> bytes;
};

class PairsWire : public Wire {
 public:
  /// Sends and receives all messages at once, and returns when all are sent and received. Sender and receiver of a
  /// message must pass the same size, at most 1 GiB. Messages from one rank to another keep their order. Throws
  /// SystemError at the wait's time limit, or if a peer is gone.
  virtual void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, Wait& wait) = 0;

  // The transfers of Wire:
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
