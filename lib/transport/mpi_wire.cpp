// MPI's own non-blocking collectives, with our own waits. Ranks do not exchange heads in pairs first: they sum two
// numbers, which are right only if all are in the same call. If they are not, pairs of ranks find out who differs. MPI
// never sums tensors, because its order of additions is its own choice.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <exception>
#include <numeric>

#include "base/bytes.h"
#include "base/error.h"
#include "dist/agree.h"
#include "transport/mpi_pairs.h"

namespace roll {

namespace {

constexpr int64_t kLargest_bytes = 1 << 30;  // per count, since MPI's counts are int
constexpr int kCodeOfBug = 70;

/// Buffers that MPI uses until a collective ends.
struct Buffers {
  std::vector<at::Tensor> tensors = {};
  std::array<uint64_t, 3> words = {};
  std::vector<int> sent, received, offsets = {};
  std::vector<MPI_Datatype> sent_types, received_types = {};
};

std::byte* tensor_data(const at::Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data_ptr());
}

/// Returns a datatype for the tensor's bytes in place, however many.
MPI_Datatype make_datatype(const at::Tensor& tensor) {
  const auto bytes = static_cast<int64_t>(tensor.nbytes());
  std::vector<int> lengths;
  std::vector<MPI_Aint> offsets;
  for (int64_t at = 0; at < bytes; at += kLargest_bytes) {
    MPI_Get_address(tensor_data(tensor) + at, &offsets.emplace_back());
    lengths.push_back(static_cast<int>(std::min(kLargest_bytes, bytes - at)));
  }
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), offsets.data(), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

/// Returns a number whose sum over ranks is 0 if all sizes match, and otherwise only by a chance of 2^-64.
uint64_t size_balance(int rank, const std::vector<int64_t>& out, const std::vector<int64_t>& in) {
  const auto size_hash = [](int from, int to, int64_t bytes) -> uint64_t {
    const std::array<int64_t, 3> words = {from, to, bytes};
    return bytes == 0 ? 0 : fnv1a({reinterpret_cast<const char*>(words.data()), sizeof words});
  };
  uint64_t balance = 0;
  for (int peer = 0; peer < std::ssize(out); ++peer) {
    if (peer == rank) continue;
    balance += size_hash(rank, peer, out[static_cast<size_t>(peer)]);
    balance -= size_hash(peer, rank, in[static_cast<size_t>(peer)]);
  }
  return balance;
}

class MpiWire : public Wire {
 public:
  /// `comm`: communicator of exactly the processes of `pairs`.
  MpiWire(std::unique_ptr<MpiPairs> pairs, MPI_Comm comm) : pairs_(std::move(pairs)), comm_(comm) {}

  int rank() const override { return pairs_->rank(); }
  int size() const override { return pairs_->size(); }
  int in_world(int member) const override { return pairs_->in_world(member); }
  std::string_view kind() const override { return pairs_->kind(); }
  void abandon() override { pairs_->abandon(); }
  std::unique_ptr<Wire> split(const std::vector<int>& members, double timeout_s) override {
    return pairs_->split(members, timeout_s);
  }

  void meet(const Head& local, Wait& wait) override {
    agree(local, 0, wait, [&] { pairs_->meet(local, wait); });
  }

  std::vector<int64_t> meet_strings(const Head& local, Wait& wait) override {
    std::vector<int64_t> sizes(static_cast<size_t>(size()));
    const uint64_t total = agree(local, 0, wait, [&] { pairs_->meet_strings(local, wait); });
    if (total == 0) return sizes;  // a barrier
    const at::Tensor all = at::zeros({size()}, at::kLong);
    auto* const numbers = all.mutable_data_ptr<int64_t>();
    numbers[rank()] = static_cast<int64_t>(local.bytes);
    all_gather(all, std::vector<int64_t>(sizes.size(), sizeof(int64_t)), wait);
    std::copy_n(numbers, sizes.size(), sizes.begin());
    return sizes;
  }

  void meet_parts(const Head& local, const std::vector<int64_t>& out, const std::vector<int64_t>& in,
                  Wait& wait) override {
    agree(local, size_balance(rank(), out, in), wait, [&] { pairs_->meet_parts(local, out, in, wait); });
  }

  void all_to_all(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in, Wait& wait) override {
    const auto buffers = std::make_shared<Buffers>();
    buffers->offsets.assign(out.size(), 0);
    add_counts_and_types(out, buffers->sent, buffers->sent_types, *buffers);
    add_counts_and_types(in, buffers->received, buffers->received_types, *buffers);
    run("MPI_Ialltoallw", buffers, wait, [&](MPI_Request* request) {
      Buffers& b = *buffers;
      return MPI_Ialltoallw(MPI_BOTTOM, b.sent.data(), b.offsets.data(), b.sent_types.data(), MPI_BOTTOM,
                            b.received.data(), b.offsets.data(), b.received_types.data(), comm_, request);
    });
    free_types(buffers->sent_types);
    free_types(buffers->received_types);
  }

  void all_gather(const at::Tensor& all, const std::vector<int64_t>& sizes, Wait& wait) override {
    const auto total = std::reduce(sizes.begin(), sizes.end());
    if (total > kLargest_bytes) return gather_one_by_one(all, sizes, wait);
    const auto buffers = std::make_shared<Buffers>(Buffers{.tensors = {all}});
    int at = 0;
    for (const int64_t bytes : sizes) {
      buffers->offsets.push_back(at);
      buffers->received.push_back(static_cast<int>(bytes));
      at += buffers->received.back();
    }
    // Small ones take 2 (n - 1) messages through the first rank, and n (n - 1) otherwise.
    if (total <= size() * kSmall_bytes) return gather_by_first(all, buffers, wait);
    run("MPI_Iallgatherv", buffers, wait, [&](MPI_Request* request) {
      return MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_BYTE, tensor_data(all), buffers->received.data(),
                             buffers->offsets.data(), MPI_BYTE, comm_, request);
    });
  }

  void gather_at_first(const at::Tensor& local, const at::Tensor& all, Wait& wait) override {
    const auto buffers = std::make_shared<Buffers>(Buffers{.tensors = {local, all}});
    const auto bytes = static_cast<int>(local.nbytes());
    run("MPI_Igather", buffers, wait, [&](MPI_Request* request) {
      return MPI_Igather(rank() == 0 ? MPI_IN_PLACE : tensor_data(local), bytes, MPI_BYTE,
                         rank() == 0 ? tensor_data(all) : nullptr, bytes, MPI_BYTE, 0, comm_, request);
    });
  }

  void broadcast(const at::Tensor& tensor, int root, Wait& wait) override {
    const auto buffers = std::make_shared<Buffers>(Buffers{.tensors = {tensor}});
    const auto total = static_cast<int64_t>(tensor.nbytes());
    for (int64_t at = 0; at < total; at += kLargest_bytes) {
      const auto bytes = static_cast<int>(std::min(kLargest_bytes, total - at));
      run("MPI_Ibcast", buffers, wait, [&](MPI_Request* request) {
        return MPI_Ibcast(tensor_data(tensor) + at, bytes, MPI_BYTE, root, comm_, request);
      });
    }
  }

 private:
  MpiSession& session() { return pairs_->session(); }

  /// Starts a collective and waits for it. Its buffers are kept for ever if it never ends.
  template <class F>
  void run(const char* name, const std::shared_ptr<Buffers>& buffers, Wait& wait, F&& start) {
    session().check_whole(wait);
    std::vector<MPI_Request> request(1, MPI_REQUEST_NULL);
    bool has_asked = false;
    try {
      session().call(name, wait, [&] { return start(request.data()); });
      session().finish(request, wait, [&] { return late_ranks(wait, std::exchange(has_asked, true)); });
    } catch (...) {
      session().give_up();
      session().keep(buffers);
      throw;
    }
  }

  /// Returns the late ranks. If all have reached the collective, the time limit is granted once more; then MPI itself
  /// is at fault.
  std::vector<int> late_ranks(const Wait& wait, bool has_asked) {
    std::vector<int> absent = session().call_roll(pairs_->members(), pairs_->channel());
    if (absent.empty() && has_asked)
      throw system_error("{}: all ranks have reached this collective, but MPI does not deliver their messages",
                         wait.where());
    return absent;
  }

  /// Checks that all ranks are in the same call and that `balance` sums to 0; returns their total bytes. Bug: on ranks
  /// that disagree with another, found in pairs. AnotherRankFailed: on all others.
  template <class F>
  uint64_t agree(const Head& local, uint64_t balance, Wait& wait, F&& meet_in_pairs) {
    session().arrive(pairs_->channel());
    const auto sums = std::make_shared<Buffers>(Buffers{.words = {local.fingerprint(), balance, local.bytes}});
    reduce_words(sums, MPI_SUM, wait);
    if (sums->words[0] == local.fingerprint() * static_cast<uint64_t>(size()) && sums->words[1] == 0)
      return sums->words[2];
    std::exception_ptr own_error;
    try {
      meet_in_pairs();
    } catch (const Bug&) {
      own_error = std::current_exception();
    }
    const auto failed_rank =
        std::make_shared<Buffers>(Buffers{.words = {own_error ? in_world(rank()) : ~uint64_t{0}, 0, 0}});
    reduce_words(failed_rank, MPI_MIN, wait);
    if (own_error) std::rethrow_exception(own_error);
    throw AnotherRankFailed(static_cast<int>(failed_rank->words[0]), kCodeOfBug);
  }

  /// All-reduces the words, which are integers, so that order does not matter.
  void reduce_words(const std::shared_ptr<Buffers>& buffers, MPI_Op op, Wait& wait) {
    run("MPI_Iallreduce", buffers, wait, [&](MPI_Request* request) {
      return MPI_Iallreduce(MPI_IN_PLACE, buffers->words.data(), static_cast<int>(buffers->words.size()), MPI_UINT64_T,
                            op, comm_, request);
    });
  }

  /// Appends counts and types for one side of an all-to-all.
  void add_counts_and_types(const std::vector<at::Tensor>& tensors, std::vector<int>& counts,
                            std::vector<MPI_Datatype>& types, Buffers& buffers) {
    const std::scoped_lock lock(session().mutex);
    for (int peer = 0; peer < size(); ++peer) {
      const at::Tensor& tensor = tensors[static_cast<size_t>(peer)];
      const bool is_sent = peer != rank() && tensor.defined() && tensor.numel() > 0;
      counts.push_back(is_sent ? 1 : 0);
      types.push_back(is_sent ? make_datatype(tensor) : MPI_BYTE);
      if (is_sent) buffers.tensors.push_back(tensor);
    }
  }

  void free_types(std::vector<MPI_Datatype>& types) {
    const std::scoped_lock lock(session().mutex);
    for (MPI_Datatype& type : types)
      if (type != MPI_BYTE) MPI_Type_free(&type);
  }

  void gather_by_first(const at::Tensor& all, const std::shared_ptr<Buffers>& buffers, Wait& wait) {
    const auto own_rank = static_cast<size_t>(rank());
    run("MPI_Igatherv", buffers, wait, [&](MPI_Request* request) {
      return MPI_Igatherv(rank() == 0 ? MPI_IN_PLACE : tensor_data(all) + buffers->offsets[own_rank],
                          buffers->received[own_rank], MPI_BYTE, tensor_data(all), buffers->received.data(),
                          buffers->offsets.data(), MPI_BYTE, 0, comm_, request);
    });
    broadcast(all, 0, wait);
  }

  /// All-gathers more bytes than MPI can count at once.
  void gather_one_by_one(const at::Tensor& all, const std::vector<int64_t>& sizes, Wait& wait) {
    const at::Tensor bytes = all.view({-1}).view(at::kByte);
    int64_t at = 0;
    for (int owner = 0; owner < size(); ++owner) {
      const int64_t length = sizes[static_cast<size_t>(owner)];
      broadcast(bytes.narrow(0, at, length), owner, wait);
      at += length;
    }
  }

  std::unique_ptr<MpiPairs> pairs_;
  MPI_Comm comm_;  // never freed, which would be a collective at an end that ranks need not share
};

MPI_Comm create_comm(const std::vector<int>& processes, int channel) {
  MPI_Group world = MPI_GROUP_NULL, group = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(processes.size()), processes.data(), &group);
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, group, channel, &comm), "MPI_Comm_create_group", "start of a group");
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return comm;
}

}  // namespace

std::unique_ptr<Wire> make_group_wire(std::unique_ptr<MpiPairs> pairs, int few) {
  if (pairs->size() <= few) return pairs;
  const std::scoped_lock lock(pairs->session().mutex);
  const MPI_Comm comm = create_comm(pairs->members(), pairs->channel());
  return std::make_unique<MpiWire>(std::move(pairs), comm);
}

std::unique_ptr<Wire> make_mpi_wire(int few) {
  auto session = MpiSession::hold();
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<int> everyone(static_cast<size_t>(size));
  std::iota(everyone.begin(), everyone.end(), 0);
  const int channel = session->next_channel++;
  return make_group_wire(std::make_unique<MpiPairs>(std::move(session), std::move(everyone), channel, few), few);
}

}  // namespace roll
