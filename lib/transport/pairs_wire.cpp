#include "transport/pairs_wire.h"

#include <algorithm>

namespace roll {

namespace {

constexpr size_t kMessage_bytes = 64 << 20;

template <class T>
std::span<std::byte> object_bytes(T& object) {
  return std::as_writable_bytes(std::span(&object, 1));
}

std::span<std::byte> tensor_bytes(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  return {static_cast<std::byte*>(tensor.data_ptr()), static_cast<size_t>(tensor.nbytes())};
}

/// Returns views of each rank's bytes in `all`.
std::vector<std::span<std::byte>> split_bytes(const at::Tensor& all, const std::vector<int64_t>& sizes) {
  std::vector<std::span<std::byte>> parts;
  size_t at = 0;
  for (const int64_t bytes : sizes) {
    parts.push_back(tensor_bytes(all).subspan(at, static_cast<size_t>(bytes)));
    at += static_cast<size_t>(bytes);
  }
  return parts;
}

/// Returns the messages' bytes from `at` on, limited in size.
template <class Message>
std::vector<Message> slice_messages(const std::vector<Message>& messages, size_t at) {
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
    const std::vector<Outgoing> out_pieces = slice_messages(out, at);
    const std::vector<Incoming> in_pieces = slice_messages(in, at);
    if (out_pieces.empty() && in_pieces.empty()) return;
    exchange(out_pieces, in_pieces, wait);
  }
}

/// Sends head local[r] to each rank r; returns all ranks' heads. Bug: one does not match.
std::vector<Head> PairsWire::exchange_heads(const std::vector<Head>& local, const std::vector<int64_t>& expected,
                                            Wait& wait) {
  std::vector<Head> heads = local;
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    const auto i = static_cast<size_t>(peer);
    out.push_back({peer, std::as_bytes(std::span(&local[i], 1))});
    in.push_back({peer, object_bytes(heads[i])});
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
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    outgoing.push_back({peer, tensor_bytes(out[static_cast<size_t>(peer)])});
    incoming.push_back({peer, tensor_bytes(in[static_cast<size_t>(peer)])});
  }
  exchange_all(std::move(outgoing), std::move(incoming), wait);
}

void PairsWire::all_gather(const at::Tensor& all, const std::vector<int64_t>& sizes, Wait& wait) {
  const std::vector<std::span<std::byte>> parts = split_bytes(all, sizes);
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  for (int peer = 0; peer < size(); ++peer) {
    if (peer == rank()) continue;
    outgoing.push_back({peer, parts[static_cast<size_t>(rank())]});
    incoming.push_back({peer, parts[static_cast<size_t>(peer)]});
  }
  exchange_all(std::move(outgoing), std::move(incoming), wait);
}

void PairsWire::gather_at_first(const at::Tensor& local, const at::Tensor& all, Wait& wait) {
  if (rank() > 0) return exchange_all({{0, tensor_bytes(local)}}, {}, wait);
  const auto parts = split_bytes(all, std::vector<int64_t>(static_cast<size_t>(size()), local.nbytes()));
  std::vector<Incoming> incoming;
  for (int peer = 1; peer < size(); ++peer) incoming.push_back({peer, parts[static_cast<size_t>(peer)]});
  exchange_all({}, std::move(incoming), wait);
}

void PairsWire::broadcast(const at::Tensor& tensor, int root, Wait& wait) {
  if (rank() != root) return exchange_all({}, {{root, tensor_bytes(tensor)}}, wait);
  std::vector<Outgoing> outgoing;
  for (int peer = 0; peer < size(); ++peer)
    if (peer != root) outgoing.push_back({peer, tensor_bytes(tensor)});
  exchange_all(std::move(outgoing), {}, wait);
}

}  // namespace roll
