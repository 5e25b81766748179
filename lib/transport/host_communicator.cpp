#include "transport/host_communicator.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/error.h"
#include "dist/single.h"
#include "transport/worker.h"

namespace roll {

namespace {

constexpr size_t kSmall_bytes = 16 << 10;  // below: one round to everyone is faster than slices
constexpr size_t kPiece_bytes = 64 << 20;  // above: in pieces, which bounds the memory for what the others sent

enum class Operation : uint8_t {
  kReduceSum,
  kReduceMax,
  kReduceMin,
  kBroadcast,
  kGather,
  kGatherBytes,
  kScatter,
  kExchange
};
struct OperationName {
  const char* text;     // for people
  const char* counted;  // in metrics
};
constexpr std::array<OperationName, 8> kOperationNames = {{{"all-reduce (sum)", "all_reduce"},
                                                           {"all-reduce (max)", "all_reduce"},
                                                           {"all-reduce (min)", "all_reduce"},
                                                           {"broadcast", "broadcast"},
                                                           {"all-gather", "all_gather"},
                                                           {"all-gather of bytes", "all_gather_bytes"},
                                                           {"reduce-scatter", "reduce_scatter"},
                                                           {"all-to-all", "all_to_all"}}};

const OperationName& name_of(Operation operation) {
  return kOperationNames[static_cast<size_t>(operation)];
}

/// What a rank is about to do; exchanged before every collective.
struct Head {
  uint64_t sequence = 0;
  uint64_t bytes = 0;
  Operation operation = Operation::kGatherBytes;
  int8_t dtype = -1;
  std::array<char, 46> name{};

  std::string text() const {
    const char* type = dtype < 0 ? "" : c10::toString(static_cast<at::ScalarType>(dtype));
    return fmt::format("{} '{}' of {} bytes{}{} (its collective {})", name_of(operation).text,
                       std::string(name.data(), strnlen(name.data(), name.size())), bytes, *type ? " " : "", type,
                       sequence);
  }
  /// The same call, of which the other rank was expected to give so many bytes; lengths of byte strings may differ.
  bool matches(const Head& other, uint64_t expected) const {
    return sequence == other.sequence && operation == other.operation && dtype == other.dtype && name == other.name &&
           (other.bytes == expected || operation == Operation::kGatherBytes);
  }
};
static_assert(sizeof(Head) == 64);

std::span<std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.nbytes()};
}

template <class T>
std::span<std::byte> bytes_of_object(T& object) {
  return std::as_writable_bytes(std::span(&object, 1));
}

/// Element-wise over `parts` in their order, into `result`, which may be one of them; the first of them is overwritten.
/// Narrow floats are added in float32 and rounded once.
void combine(const std::vector<at::Tensor>& parts, Reduce op, at::Tensor& result) {
  const bool narrow = is_narrow(result.scalar_type());
  at::Tensor total = narrow ? parts[0].to(at::kFloat) : parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    const at::Tensor part = narrow ? parts[i].to(at::kFloat) : parts[i];
    if (op == Reduce::kSum) total.add_(part);
    if (op == Reduce::kMax) at::maximum_out(total, total, part);
    if (op == Reduce::kMin) at::minimum_out(total, total, part);
  }
  if (!total.is_same(result)) result.copy_(total);
}

Operation operation_of(Reduce op) {
  return op == Reduce::kSum   ? Operation::kReduceSum
         : op == Reduce::kMax ? Operation::kReduceMax
                              : Operation::kReduceMin;
}

/// Whose traffic an exchange is.
struct Call {
  Operation operation;
  Wait wait;
};

class HostCommunicator : public Communicator {
 public:
  HostCommunicator(std::unique_ptr<Wire> wire, double timeout_s, Membership own)
      : Communicator(std::move(own)), wire_(std::move(wire)), timeout_s_(timeout_s) {}
  ~HostCommunicator() override {
    if (worker_ && worker_->is_busy()) wire_->abandon();
  }

  std::string_view kind() const override { return wire_->kind(); }

  std::unique_ptr<Communicator> split(const std::vector<int>& members, const std::string& group) override {
    auto wire = wire_->split(members, timeout_s_);
    if (members.size() == 1) return make_single_communicator(membership_in(members, group));
    return std::make_unique<HostCommunicator>(std::move(wire), timeout_s_, membership_in(members, group));
  }

  std::vector<std::string> all_gather_bytes(std::string_view mine, std::string_view name) override {
    return gather_bytes(mine, name, /*is_patient=*/false);
  }
  std::unique_ptr<Pending> start_all_gather_bytes(std::string mine, std::shared_ptr<std::vector<std::string>> all,
                                                  std::string_view name) override {
    return start([this, mine = std::move(mine), all = std::move(all), what = std::string(name)] {
      *all = gather_bytes(mine, what, /*is_patient=*/true);
    });
  }

 protected:
  void reduce_dense(at::Tensor& tensor, Reduce op, std::string_view name) override {
    Call call = begin(operation_of(op), name);
    meet(operation_of(op), static_cast<int8_t>(tensor.scalar_type()), tensor.nbytes(), name, call);
    const at::Tensor host = tensor.to(at::kCPU).view({-1});
    const int64_t piece = static_cast<int64_t>(kPiece_bytes / tensor.element_size());
    for (int64_t at = 0; at < host.numel(); at += piece) {
      at::Tensor part = host.slice(0, at, std::min(at + piece, host.numel()));
      part.nbytes() <= kSmall_bytes ? reduce_small(part, op, call) : reduce_slices(part, op, call);
    }
    if (!tensor.is_cpu()) tensor.copy_(host.view(tensor.sizes()));
  }

  void broadcast_dense(at::Tensor& tensor, int root, std::string_view name) override {
    Call call = begin(Operation::kBroadcast, name);
    meet(Operation::kBroadcast, static_cast<int8_t>(tensor.scalar_type()), tensor.nbytes(), name, call);
    const at::Tensor host = tensor.to(at::kCPU);
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for_each_piece(bytes_of(host), [&](std::span<std::byte> piece) {
      if (rank() != root) return in.assign({{root, piece}}), exchange({}, in, call);
      out.clear();
      for (int peer = 0; peer < size(); ++peer)
        if (peer != root) out.push_back({peer, piece});
      exchange(out, {}, call);
    });
    if (!tensor.is_cpu()) tensor.copy_(host);
  }

  void gather_dense(const at::Tensor& tensor, at::Tensor& all, std::string_view name) override {
    Call call = begin(Operation::kGather, name);
    meet(Operation::kGather, static_cast<int8_t>(tensor.scalar_type()), tensor.nbytes(), name, call);
    const at::Tensor host = tensor.to(at::kCPU);
    const at::Tensor host_all = all.is_cpu() ? all : at::empty(all.sizes(), host.options());
    std::vector<std::span<std::byte>> places;
    const at::Tensor rows = host_all.view({size(), -1});
    for (int i = 0; i < size(); ++i) places.push_back(bytes_of(rows[i]));
    to_everyone(bytes_of(host), places, call);
    if (!all.is_cpu()) all.copy_(host_all);
  }

  void reduce_scatter_dense(const at::Tensor& all, at::Tensor& mine, std::string_view name) override {
    Call call = begin(Operation::kScatter, name);
    meet(Operation::kScatter, static_cast<int8_t>(all.scalar_type()), all.nbytes(), name, call);
    const at::Tensor rows = all.to(at::kCPU).view({size(), -1});
    const bool in_place = mine.is_cpu();
    const at::Tensor result = in_place ? mine.view({-1}) : at::empty({rows.size(1)}, rows.options());
    const int64_t piece = static_cast<int64_t>(kPiece_bytes / all.element_size());
    for (int64_t at = 0; at < rows.size(1); at += piece) {
      const int64_t end = std::min(at + piece, rows.size(1));
      at::Tensor sum = result.slice(0, at, end);
      gather_sum([&](int owner) { return rows[owner].slice(0, at, end); }, Reduce::kSum, sum, call);
    }
    if (!in_place) mine.copy_(result.view(mine.sizes()));
  }

  void exchange_dense(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                      std::string_view name) override {
    Call call = begin(Operation::kExchange, name);
    std::vector<at::Tensor> sent, received;
    std::vector<Head> heads(static_cast<size_t>(size()));
    std::vector<uint64_t> expected;
    for (int peer = 0; peer < size(); ++peer) {
      sent.push_back(out[peer].to(at::kCPU));
      received.push_back(in[peer].is_cpu() ? in[peer] : at::empty_like(in[peer], at::kCPU));
      heads[peer] = head(Operation::kExchange, -1, peer == rank() ? 0 : sent.back().nbytes(), name);
      expected.push_back(peer == rank() ? 0 : received.back().nbytes());
    }
    ++sequence_;
    meet(heads, expected, call);
    bool is_through = false;
    for (size_t at = 0; !is_through; at += kPiece_bytes) {
      std::vector<Outgoing> to;
      std::vector<Incoming> from;
      const auto piece = [&](const at::Tensor& tensor) {
        const std::span<std::byte> bytes = bytes_of(tensor);
        return bytes.subspan(std::min(at, bytes.size()),
                             std::min(kPiece_bytes, bytes.size() - std::min(at, bytes.size())));
      };
      for (int peer = 0; peer < size(); ++peer) {
        if (peer == rank()) continue;
        if (const auto bytes = piece(sent[peer]); !bytes.empty()) to.push_back({peer, bytes});
        if (const auto bytes = piece(received[peer]); !bytes.empty()) from.push_back({peer, bytes});
      }
      is_through = to.empty() && from.empty();
      if (!is_through) exchange(to, from, call);
    }
    for (int peer = 0; peer < size(); ++peer)
      if (!in[peer].is_cpu()) at::Tensor(in[peer]).copy_(received[peer]);
  }

  std::unique_ptr<Pending> start(std::function<void()> collective) override {
    if (!worker_) worker_ = std::make_unique<Worker>();
    return worker_->run(std::move(collective));
  }

 private:
  std::vector<std::string> gather_bytes(std::string_view mine, std::string_view name, bool is_patient) {
    Call call = begin(Operation::kGatherBytes, name, is_patient);
    const std::vector<Head> heads = meet(Operation::kGatherBytes, -1, mine.size(), name, call);
    std::vector<std::string> all(static_cast<size_t>(size()));
    std::vector<std::span<std::byte>> places;
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].resize(heads[i].bytes);
      places.push_back(std::as_writable_bytes(std::span(all[i])));
    }
    to_everyone(std::as_bytes(std::span(mine)), places, call);
    return all;
  }

  Call begin(Operation operation, std::string_view name, bool is_patient = false) {
    traffic().add_call(group(), name_of(operation).counted);
    const std::string collective = fmt::format("{} '{}'{}", name_of(operation).text, name, of_group());
    return {operation, Wait(place(), collective, timeout_s_, is_patient)};
  }

  /// For error texts: which of this rank's groups a collective is of.
  std::string of_group() const { return group() == "world" ? "" : fmt::format(" of its {} group", group()); }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, Call& call) {
    int64_t sent = 0;
    for (const Outgoing& message : out) sent += std::ssize(message.bytes);
    traffic().add_bytes(group(), name_of(call.operation).counted, sent);
    wire_->exchange(out, in, call.wait);
  }

  Head head(Operation operation, int8_t dtype, size_t bytes, std::string_view name) const {
    Head head{sequence_, bytes, operation, dtype, {}};
    name.copy(head.name.data(), head.name.size());
    return head;
  }

  /// Every rank's head.
  std::vector<Head> meet(Operation operation, int8_t dtype, size_t bytes, std::string_view name, Call& call) {
    const Head mine = head(operation, dtype, bytes, name);
    ++sequence_;
    return meet(std::vector<Head>(static_cast<size_t>(size()), mine),
                std::vector<uint64_t>(static_cast<size_t>(size()), bytes), call);
  }

  /// Every rank's head for this rank, whose own for the others are `mine`; Bug when one of them is in another
  /// collective than this rank, or gives another number of bytes than `expected`.
  std::vector<Head> meet(std::vector<Head> mine, const std::vector<uint64_t>& expected, Call& call) {
    std::vector<Head> heads(mine.size());
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      out.push_back({peer, bytes_of_object(mine[peer])});
      in.push_back({peer, bytes_of_object(heads[peer])});
    }
    heads[rank()] = mine[rank()];
    wire_->exchange(out, in, call.wait);
    for (size_t i = 0; i < heads.size(); ++i)
      if (!mine[i].matches(heads[i], expected[i]))
        throw Bug(fmt::format("{}: ranks{} diverged: this rank is in {}, rank {} in {}", to_string(place()), of_group(),
                              mine[i].text(), wire_->in_world(static_cast<int>(i)), heads[i].text()));
    return heads;
  }

  template <class Bytes, class F>
  static void for_each_piece(Bytes bytes, F&& use) {
    for (size_t at = 0; at < bytes.size(); at += kPiece_bytes)
      use(bytes.subspan(at, std::min(kPiece_bytes, bytes.size() - at)));
  }

  /// `mine` to all ranks, theirs into `places` (by rank; sizes may differ), piece by piece.
  void to_everyone(std::span<const std::byte> mine, const std::vector<std::span<std::byte>>& places, Call& call) {
    const auto& own = places[static_cast<size_t>(rank())];
    if (!mine.empty() && own.data() != mine.data()) std::memcpy(own.data(), mine.data(), mine.size());
    size_t longest = 0;
    for (const auto& place : places) longest = std::max(longest, place.size());
    for (size_t at = 0; at < longest; at += kPiece_bytes) {
      std::vector<Outgoing> out;
      std::vector<Incoming> in;
      for (int peer = 0; peer < size(); ++peer) {
        const auto& theirs = places[static_cast<size_t>(peer)];
        if (peer == rank()) continue;
        if (at < mine.size()) out.push_back({peer, mine.subspan(at, std::min(kPiece_bytes, mine.size() - at))});
        if (at < theirs.size()) in.push_back({peer, theirs.subspan(at, std::min(kPiece_bytes, theirs.size() - at))});
      }
      exchange(out, in, call);
    }
  }

  void reduce_small(at::Tensor& part, Reduce op, Call& call) {
    const at::Tensor all = at::empty({size(), part.numel()}, part.options());
    std::vector<std::span<std::byte>> places;
    for (int i = 0; i < size(); ++i) places.push_back(bytes_of(all[i]));
    to_everyone(bytes_of(part), places, call);
    combine(all.unbind(0), op, part);
  }

  /// Sends slice(peer) to each peer and combines what all sent for this rank's own slice, in rank order, into `mine`,
  /// which may be that slice.
  void gather_sum(const std::function<at::Tensor(int)>& slice, Reduce op, at::Tensor& mine, Call& call) {
    const auto row_bytes = static_cast<int64_t>((mine.nbytes() + 63) / 64 * 64);
    if (scratch_.numel() < row_bytes * size()) scratch_ = at::empty({row_bytes * size()}, at::kByte);
    const auto room = [&](int peer) {
      const int64_t from = peer * row_bytes;
      return scratch_.slice(0, from, from + static_cast<int64_t>(mine.nbytes())).view(mine.scalar_type());
    };
    std::vector<at::Tensor> sent_to_me;
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    if (slice(rank()).data_ptr() != mine.data_ptr()) mine.copy_(slice(rank()));  // what is summed stays as it is
    for (int peer = 0; peer < size(); ++peer) {
      sent_to_me.push_back(peer == rank() ? mine : room(peer));
      if (peer == rank()) continue;
      out.push_back({peer, bytes_of(slice(peer))});
      in.push_back({peer, bytes_of(sent_to_me.back())});
    }
    exchange(out, in, call);
    combine(sent_to_me, op, mine);
  }

  void reduce_slices(at::Tensor& part, Reduce op, Call& call) {
    const int64_t width = (part.numel() + size() - 1) / size();
    const auto slice = [&](int owner) {
      const int64_t from = std::min(owner * width, part.numel());
      return part.slice(0, from, std::min(from + width, part.numel()));
    };
    at::Tensor mine = slice(rank());
    gather_sum(slice, op, mine, call);
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      out.push_back({peer, bytes_of(mine)});
      in.push_back({peer, bytes_of(slice(peer))});
    }
    exchange(out, in, call);
  }

  std::unique_ptr<Wire> wire_;
  at::Tensor scratch_ = at::empty({0}, at::kByte);  // kept: fresh pages for every reduce cost more than the sum
  double timeout_s_;
  uint64_t sequence_ = 0;
  std::unique_ptr<Worker> worker_;  // made when first needed; last, so that it ends before what it uses
};

}  // namespace

std::unique_ptr<Communicator> make_host_communicator(std::unique_ptr<Wire> wire, double timeout_s) {
  const Whereabouts world{wire->rank(), wire->size(), -1};
  Membership own{.rank = world.rank, .size = world.size, .world = world};
  return std::make_unique<HostCommunicator>(std::move(wire), timeout_s, std::move(own));
}

}  // namespace roll
