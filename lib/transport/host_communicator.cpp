#include "transport/host_communicator.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "dist/combine.h"
#include "dist/single.h"
#include "transport/worker.h"

namespace roll {

namespace {

constexpr int64_t kPiece_bytes = 64 << 20;  // larger tensors go in pieces, which bounds the receive buffers

int64_t bytes_in(const at::Tensor& tensor) {
  return static_cast<int64_t>(tensor.nbytes());
}

Operation reduce_operation(Reduce op) {
  return op == Reduce::kSum   ? Operation::kReduceSum
         : op == Reduce::kMax ? Operation::kReduceMax
                              : Operation::kReduceMin;
}

/// A collective in progress.
struct Call {
  Head head;
  Wait wait;
};

class HostCommunicator : public Communicator {
 public:
  HostCommunicator(std::unique_ptr<Wire> wire, double timeout_s, Membership membership)
      : Communicator(std::move(membership)), wire_(std::move(wire)), timeout_s_(timeout_s) {}
  ~HostCommunicator() override {
    if (worker_ && worker_->is_busy()) wire_->abandon();
  }

  std::string_view kind() const override { return wire_->kind(); }

  std::unique_ptr<Communicator> split(const std::vector<int>& members, const std::string& group) override {
    auto wire = wire_->split(members, timeout_s_);
    if (members.size() == 1) return make_single_communicator(membership_in(members, group));
    return std::make_unique<HostCommunicator>(std::move(wire), timeout_s_, membership_in(members, group));
  }

  std::vector<std::string> all_gather_bytes(std::string_view local, std::string_view name) override {
    return gather_strings(local, name, /*is_patient=*/false);
  }
  std::vector<std::string> gather_bytes(std::string_view local, std::string_view name) override {
    Call call = begin(Operation::kBytesToFirst, -1, std::ssize(local), name);
    const std::vector<int64_t> sizes = wire_->meet_strings(call.head, call.wait);
    std::vector<at::Tensor> out(sizes.size()), in(sizes.size());
    if (is_first()) {
      for (size_t peer = 1; peer < sizes.size(); ++peer) in[peer] = at::empty({sizes[peer]}, at::kByte);
    } else {
      out[0] = at::empty({std::ssize(local)}, at::kByte);
      std::ranges::copy(local, static_cast<char*>(out[0].mutable_data_ptr()));
      count(std::ssize(local), call);
    }
    wire_->all_to_all(out, in, call.wait);
    if (!is_first()) return {};
    std::vector<std::string> all = {std::string(local)};
    for (size_t peer = 1; peer < sizes.size(); ++peer)
      all.emplace_back(static_cast<const char*>(in[peer].const_data_ptr()), static_cast<size_t>(sizes[peer]));
    return all;
  }
  std::unique_ptr<Pending> start_all_gather_bytes(std::string local, std::shared_ptr<std::vector<std::string>> all,
                                                  std::string_view name) override {
    return start([this, local = std::move(local), all = std::move(all), owned_name = std::string(name)] {
      *all = gather_strings(local, owned_name, /*is_patient=*/true);
    });
  }

 protected:
  void reduce_dense(at::Tensor& tensor, Reduce op, std::string_view name) override {
    Call call = meet(reduce_operation(op), tensor, name);
    const at::Tensor host = tensor.to(at::kCPU).view({-1});
    const int64_t piece = kPiece_bytes / tensor.element_size();
    for (int64_t at = 0; at < host.numel(); at += piece) {
      at::Tensor part = host.slice(0, at, std::min(at + piece, host.numel()));
      bytes_in(part) <= kSmall_bytes ? reduce_small(part, op, call) : reduce_slices(part, op, call);
    }
    if (!tensor.is_cpu()) tensor.copy_(host.view(tensor.sizes()));
  }

  void broadcast_dense(at::Tensor& tensor, int root, std::string_view name) override {
    Call call = meet(Operation::kBroadcast, tensor, name);
    const at::Tensor host = tensor.to(at::kCPU);
    if (rank() == root) count(num_peers() * bytes_in(host), call);
    wire_->broadcast(host, root, call.wait);
    if (!tensor.is_cpu()) tensor.copy_(host);
  }

  void gather_dense(const at::Tensor& tensor, at::Tensor& all, std::string_view name) override {
    Call call = meet(Operation::kGather, tensor, name);
    const at::Tensor host_all = all.is_cpu() ? all : at::empty(all.sizes(), all.options().device(at::kCPU));
    at::Tensor own_row = host_all.view({size(), -1})[rank()];
    if (own_row.data_ptr() != tensor.data_ptr()) own_row.copy_(tensor.view({-1}));
    all_gather_in_place(host_all, std::vector<int64_t>(static_cast<size_t>(size()), bytes_in(own_row)), call);
    if (!all.is_cpu()) all.copy_(host_all);
  }

  void reduce_scatter_dense(const at::Tensor& all, at::Tensor& local, std::string_view name) override {
    Call call = meet(Operation::kScatter, all, name);
    const at::Tensor rows = all.to(at::kCPU).view({size(), -1});
    const bool in_place = local.is_cpu();
    const at::Tensor result = in_place ? local.view({-1}) : at::empty({rows.size(1)}, rows.options());
    const int64_t piece = std::max<int64_t>(1, kPiece_bytes / all.element_size() / size());
    for (int64_t at = 0; at < rows.size(1); at += piece) {
      const int64_t end = std::min(at + piece, rows.size(1));
      at::Tensor sum = result.slice(0, at, end);
      gather_sum([&](int owner) { return rows[owner].slice(0, at, end); }, Reduce::kSum, sum, call);
    }
    if (!in_place) local.copy_(result.view(local.sizes()));
  }

  void exchange_dense(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                      std::string_view name) override {
    Call call = begin(Operation::kExchange, -1, 0, name);
    std::vector<at::Tensor> sent, received;
    std::vector<int64_t> sent_bytes, expected_bytes;
    for (int peer = 0; peer < size(); ++peer) {
      sent.push_back(out[peer].to(at::kCPU));
      received.push_back(in[peer].is_cpu() ? in[peer] : at::empty_like(in[peer], at::kCPU));
      sent_bytes.push_back(peer == rank() ? 0 : bytes_in(sent.back()));
      expected_bytes.push_back(peer == rank() ? 0 : bytes_in(received.back()));
    }
    wire_->meet_parts(call.head, sent_bytes, expected_bytes, call.wait);
    count(std::reduce(sent_bytes.begin(), sent_bytes.end()), call);
    wire_->all_to_all(sent, received, call.wait);
    for (int peer = 0; peer < size(); ++peer)
      if (!in[peer].is_cpu()) at::Tensor(in[peer]).copy_(received[peer]);
  }

  std::unique_ptr<Pending> start(std::function<void()> collective) override {
    if (!worker_) worker_ = std::make_unique<Worker>();
    return worker_->run(std::move(collective));
  }

 private:
  std::vector<std::string> gather_strings(std::string_view local, std::string_view name, bool is_patient) {
    Call call = begin(Operation::kGatherBytes, -1, std::ssize(local), name, is_patient);
    const std::vector<int64_t> sizes = wire_->meet_strings(call.head, call.wait);
    const at::Tensor all_bytes = at::empty({std::reduce(sizes.begin(), sizes.end())}, at::kByte);
    auto* const all_begin = static_cast<char*>(all_bytes.data_ptr());
    if (!local.empty())
      std::memcpy(all_begin + std::reduce(sizes.begin(), sizes.begin() + rank()), local.data(), local.size());
    all_gather_in_place(all_bytes, sizes, call);
    std::vector<std::string> all;
    const char* at = all_begin;
    for (const int64_t bytes : sizes) {
      all.emplace_back(at, static_cast<size_t>(bytes));
      at += bytes;
    }
    return all;
  }

  Call begin(Operation operation, int8_t dtype, int64_t bytes, std::string_view name, bool is_patient = false) {
    traffic().add_call(group(), operation_name(operation).counted);
    const std::string collective = fmt::format("{} '{}'", operation_name(operation).text, name);
    return {make_head(sequence_++, static_cast<uint64_t>(bytes), operation, dtype, name),
            Wait(place(), {collective, group() == "world" ? "" : group()}, timeout_s_, is_patient)};
  }

  /// Starts a collective to which all ranks contribute equally many bytes.
  Call meet(Operation operation, const at::Tensor& tensor, std::string_view name) {
    Call call = begin(operation, static_cast<int8_t>(tensor.scalar_type()), bytes_in(tensor), name);
    wire_->meet(call.head, call.wait);
    return call;
  }

  /// Counts the payload that this rank sends, by the formulae of traffic.h.
  void count(int64_t bytes, const Call& call) {
    traffic().add_bytes(group(), operation_name(call.head.operation).counted, bytes);
  }

  int64_t num_peers() const { return size() - 1; }

  /// `all`: sizes[r] bytes of each rank r; this rank's own are in place.
  void all_gather_in_place(const at::Tensor& all, const std::vector<int64_t>& sizes, Call& call) {
    count(num_peers() * sizes[static_cast<size_t>(rank())], call);
    if (std::ranges::any_of(sizes, [](int64_t bytes) { return bytes > 0; })) wire_->all_gather(all, sizes, call.wait);
  }

  void reduce_small(at::Tensor& part, Reduce op, Call& call) {
    if (size() > kFewRanks) return reduce_at_first(part, op, call);
    const at::Tensor all = at::empty({size(), part.numel()}, part.options());
    all[rank()].copy_(part);
    all_gather_in_place(all, std::vector<int64_t>(static_cast<size_t>(size()), bytes_in(part)), call);
    combine(all.unbind(0), op, part);
  }

  void reduce_at_first(at::Tensor& part, Reduce op, Call& call) {
    at::Tensor all;
    if (is_first()) {
      all = at::empty({size(), part.numel()}, part.options());
      all[0].copy_(part);
    }
    count((is_first() ? num_peers() : 1) * bytes_in(part), call);
    wire_->gather_at_first(part, all, call.wait);
    if (is_first()) combine(all.unbind(0), op, part);
    wire_->broadcast(part, 0, call.wait);
  }

  /// Sends slice(peer) to each peer, and reduces all ranks' parts of this rank's slice, in rank order, into `local`,
  /// which may be that slice.
  void gather_sum(const std::function<at::Tensor(int)>& slice, Reduce op, at::Tensor& local, Call& call) {
    const int64_t row_bytes = (bytes_in(local) + 63) / 64 * 64;
    if (scratch_.numel() < row_bytes * size()) scratch_ = at::empty({row_bytes * size()}, at::kByte);
    const auto receive_buffer = [&](int peer) {
      return scratch_.narrow(0, peer * row_bytes, bytes_in(local)).view(local.scalar_type());
    };
    if (slice(rank()).data_ptr() != local.data_ptr()) local.copy_(slice(rank()));  // the input does not change
    std::vector<at::Tensor> out, in;
    int64_t bytes = 0;
    for (int peer = 0; peer < size(); ++peer) {
      out.push_back(slice(peer));
      in.push_back(peer == rank() ? local : receive_buffer(peer));
      if (peer != rank()) bytes += bytes_in(out.back());
    }
    count(bytes, call);
    wire_->all_to_all(out, in, call.wait);
    combine(in, op, local);
  }

  void reduce_slices(at::Tensor& part, Reduce op, Call& call) {
    const int64_t width = (part.numel() + size() - 1) / size();
    const auto slice = [&](int owner) {
      const int64_t from = std::min(owner * width, part.numel());
      return part.slice(0, from, std::min(from + width, part.numel()));
    };
    at::Tensor local = slice(rank());
    gather_sum(slice, op, local, call);
    std::vector<int64_t> sizes;
    for (int owner = 0; owner < size(); ++owner) sizes.push_back(bytes_in(slice(owner)));
    all_gather_in_place(part, sizes, call);
  }

  std::unique_ptr<Wire> wire_;
  at::Tensor scratch_ = at::empty({0}, at::kByte);  // kept, since fresh pages for every reduce cost more than the sum
  double timeout_s_;
  uint64_t sequence_ = 0;
  std::unique_ptr<Worker> worker_;  // made on first use; last, so that it ends before its buffers
};

}  // namespace

std::unique_ptr<Communicator> make_host_communicator(std::unique_ptr<Wire> wire, double timeout_s) {
  const Whereabouts world{wire->rank(), wire->size(), -1};
  Membership membership{.rank = world.rank, .size = world.size, .world = world};
  return std::make_unique<HostCommunicator>(std::move(wire), timeout_s, std::move(membership));
}

}  // namespace roll
