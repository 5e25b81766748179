// Builds all collectives of a wire from one primitive: a simultaneous exchange of messages with other ranks. Waits
// always know who is missing, and two rounds suffice; but n ranks send n (n - 1) heads before each collective.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "transport/wire.h"

namespace roll {

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
  /// Sends and receives all messages at once, and returns when all are through. Both sides must name the same sizes, at
  /// most 1 GiB each; messages of a pair keep their order. Throws Wait's errors. SystemError: a peer is gone.
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
