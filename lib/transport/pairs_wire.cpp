#include "transport/pairs_wire.h"

#include <algorithm>

namespace roll {

namespace {

constexpr size_t kMessage_bytes = 64 << 20;

template <class T>
std::span<std::byte> bytes_of_object(T& object) {
  return std::as_writable_bytes(std::span(&object, 1));
}

std::span<std::byte> bytes_of(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  return {static_cast<std::byte*>(tensor.data_ptr()), static_cast<size_t>(tensor.nbytes())};
}

/// Returns views of each rank's bytes in `all`.
std::vector<std::span<std::byte>> parts_of(const at::Tensor& all, const std::vector<int64_t>& sizes) {
  std::vector<std::span<std::byte>> parts;
  size_t at = 0;
  for (const int64_t bytes : sizes) {
    parts.push_back(bytes_of(all).subspan(at, static_cast<size_t>(bytes)));
    at += static_cast<size_t>(bytes);
  }
  return parts;
}

/// Returns the messages' bytes from `at` on, limited in size.
template <class Message>
std::vector<Message> piece_of(const std::vector<Message>& messages, size_t at) {
  std::vector<Message> pieces;
  for (const Message& message : messages)
    if (message.bytes.size() > at)
      pieces.push_back({message.rank, message.bytes.subspan(at, std::min(kMessage_bytes, message.bytes.size() - at))});
  return pieces;
}

}  // namespace

/// Exchanges messages of any size, large ones in pieces; both ranks of a pair know the sizes.
void PairsWire::exchange_all(std::vector<Outgoing> out, std::vector<Incoming> in, Wait& wait) {
  for (size_t at = 0;; at += kMessage_bytes) {
    const std::vector<Outgoing> some_out = piece_of(out, at);
    const std::vector<Incoming> some_in = piece_of(in, at);
    if (some_out.empty() && some_in.empty()) return;
    exchange(some_out, some_in, wait);
  }
}

/// Sends head mine[r] to each rank r; returns all ranks' heads. Bug: one does not match.
std::vector<Head> PairsWire::exchange_heads(const std::vector<Head>& local, const std::vector<int64_t>& expected,
                                            Wait& wait) {
  std::vector<Head> heads = local;
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    const auto i = static_cast<size_t>(peer);
    out.push_back({peer, std::as_bytes(std::span(&local[i], 1))});
    in.push_back({peer, bytes_of_object(heads[i])});
  }
  exchange(out, in, wait);
  for (size_t i = 0; i < heads.size(); ++i)
    if (!local[i].matches(heads[i], static_cast<uint64_t>(expected[i])))
      wait.diverged(local[i], in_world(static_cast<int>(i)), heads[i]);
  return heads;
}

void PairsWire::meet(const Head& local, Wait& wait) {
  const auto ranks = static_cast<size_t>(size());
  exchange_heads(std::vector<Head>(ranks, local), std::vector<int64_t>(ranks, static_cast<int64_t>(local.bytes)), wait);
}

std::vector<int64_t> PairsWire::meet_strings(const Head& local, Wait& wait) {
  const auto ranks = static_cast<size_t>(size());
  std::vector<int64_t> sizes;
  for (const Head& head : exchange_heads(std::vector<Head>(ranks, local), std::vector<int64_t>(ranks, 0), wait))
    sizes.push_back(static_cast<int64_t>(head.bytes));
  return sizes;
}

void PairsWire::meet_parts(const Head& local, const std::vector<int64_t>& out, const std::vector<int64_t>& in,
                           Wait& wait) {
  std::vector<Head> heads(out.size(), local);
  for (size_t i = 0; i < heads.size(); ++i) heads[i].bytes = static_cast<uint64_t>(out[i]);
  exchange_heads(heads, in, wait);
}

void PairsWire::all_to_all(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in, Wait& wait) {
  std::vector<Outgoing> to;
  std::vector<Incoming> from;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    to.push_back({peer, bytes_of(out[static_cast<size_t>(peer)])});
    from.push_back({peer, bytes_of(in[static_cast<size_t>(peer)])});
  }
  exchange_all(std::move(to), std::move(from), wait);
}

void PairsWire::all_gather(const at::Tensor& all, const std::vector<int64_t>& sizes, Wait& wait) {
  const std::vector<std::span<std::byte>> parts = parts_of(all, sizes);
  std::vector<Outgoing> to;
  std::vector<Incoming> from;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    to.push_back({peer, parts[static_cast<size_t>(rank())]});
    from.push_back({peer, parts[static_cast<size_t>(peer)]});
  }
  exchange_all(std::move(to), std::move(from), wait);
}

void PairsWire::gather_at_first(const at::Tensor& local, const at::Tensor& all, Wait& wait) {
  if (rank() > 0) return exchange_all({{0, bytes_of(local)}}, {}, wait);
  const auto parts = parts_of(all, std::vector<int64_t>(static_cast<size_t>(size()), local.nbytes()));
  std::vector<Incoming> from;
  for (int peer = 1; peer < size(); ++peer) from.push_back({peer, parts[static_cast<size_t>(peer)]});
  exchange_all({}, std::move(from), wait);
}

void PairsWire::broadcast(const at::Tensor& tensor, int root, Wait& wait) {
  if (rank() != root) return exchange_all({}, {{root, bytes_of(tensor)}}, wait);
  std::vector<Outgoing> to;
  for (int peer = 0; peer < size(); ++peer)
    if (peer != root) to.push_back({peer, bytes_of(tensor)});
  exchange_all(std::move(to), {}, wait);
}

}  // namespace roll
