// Sockets between all pairs of ranks, for processes started with RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/error.h"
#include "transport/pairs_wire.h"
#include "transport/rendezvous.h"

namespace roll {

namespace {

constexpr int kMostRanks = 128;

class TcpWire : public PairsWire {
 public:
  /// `members`: ranks of the world; this process is members[rank]. `found`, by rank of this wire: existing connections,
  /// and the others' endpoints.
  TcpWire(Rendezvous rendezvous, std::vector<int> members, int rank, Wait& wait)
      : secret_(rendezvous.secret),
        members_(std::move(members)),
        rank_(rank),
        size_(std::ssize(members_)),
        peers_(std::move(rendezvous.peers)) {
    std::vector<Call> calls;
    for (int lower = 0; lower < rank; ++lower) {
      const auto peer = static_cast<size_t>(lower);
      if (!peers_[peer].is_open())
        calls.push_back({lower, rendezvous.endpoints[peer], visit(lower, rendezvous.endpoints[peer], wait)});
    }
    Door door(std::move(rendezvous.listener), secret_);
    while (!missing().empty()) {
      for (Call& call : calls) continue_call(call, wait);
      if (!answer(door)) wait.pause([&] { return missing(); });
    }
  }

  std::unique_ptr<Wire> split(const std::vector<int>& members, double timeout_s) override {
    std::vector<int> processes;
    for (const int member : members) processes.push_back(in_world(member));
    const auto own_rank = static_cast<int>(std::find(members.begin(), members.end(), rank_) - members.begin());
    Wait wait({in_world(rank_), size_, -1}, {"start of a group over tcp"}, timeout_s);
    Rendezvous found{.secret = secret_, .endpoints = std::vector<Endpoint>(members.size())};
    found.peers.resize(members.size());
    if (members.size() > 1) exchange_endpoints(members, own_rank, found, wait);
    return std::make_unique<TcpWire>(std::move(found), std::move(processes), own_rank, wait);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int in_world(int member) const override { return members_.at(static_cast<size_t>(member)); }
  std::string_view kind() const override { return "tcp"; }

  void abandon() override { abandoned_ = true; }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, Wait& wait) override {
    if (broken_) throw system_error("{}: an earlier collective of this rank failed", wait.where());
    broken_ = true;  // until all is through: half a message would shift all later ones
    std::vector<Outgoing> sends(out.begin(), out.end());
    std::vector<Incoming> receives(in.begin(), in.end());
    while (true) {
      const bool moved = transfer_ready(sends, receives, wait);
      const std::vector<int> late = unfinished(sends, receives);
      if (late.empty()) break;
      if (!moved) wait.pause([&] { return late; });
      if (abandoned_) throw system_error("{}: given up, because this rank failed elsewhere", wait.where());
    }
    broken_ = false;
  }

 private:
  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int i = 0; i < size_; ++i)
      if (i != rank_ && !peers_[static_cast<size_t>(i)].is_open()) ranks.push_back(in_world(i));
    return ranks;
  }

  /// Exchanges, through this wire, the addresses at which the members listen for the new group.
  void exchange_endpoints(const std::vector<int>& members, int own_rank, Rendezvous& found, Wait& wait) {
    const int other_member = members[own_rank == 0 ? 1 : 0];
    found.listener = listen_at({peers_[static_cast<size_t>(other_member)].own_endpoint().address, 0});
    found.endpoints[static_cast<size_t>(own_rank)] = found.listener.own_endpoint();
    std::vector<Outgoing> out;
    std::vector<Incoming> in;
    for (size_t i = 0; i < members.size(); ++i) {
      if (members[i] == rank_) continue;
      out.push_back({members[i], std::as_bytes(std::span(&found.endpoints[static_cast<size_t>(own_rank)], 1))});
      in.push_back({members[i], std::as_writable_bytes(std::span(&found.endpoints[i], 1))});
    }
    exchange(out, in, wait);
  }

  struct Call {
    int lower;
    Endpoint endpoint;
    DoorVisit visit;
  };

  DoorVisit visit(int lower, const Endpoint& endpoint, const Wait& wait) {
    try {
      return {connect_to(endpoint), secret_, {static_cast<uint64_t>(rank_), {}}};
    } catch (const ConnectionLost& error) {
      throw system_error("{}: rank {} is gone: {}", wait.where(), in_world(lower), error.what());
    }
  }

  /// Continues a call; restarts one that took too long because a process was suspended.
  void continue_call(Call& call, const Wait& wait) {
    Socket& peer = peers_[static_cast<size_t>(call.lower)];
    if (peer.is_open()) return;
    try {
      if (call.visit.go_on()) peer = call.visit.take_socket();
    } catch (const ConnectionLost&) {
      call.visit = visit(call.lower, call.endpoint, wait);
    }
  }

  /// Returns true if a caller was accepted.
  bool answer(Door& door) {
    std::optional<Guest> guest = door.next();
    if (!guest) return false;
    const uint64_t rank = guest->hello.rank;
    if (rank > static_cast<uint64_t>(rank_) && rank < peers_.size()) peers_[rank] = std::move(guest->socket);
    return true;
  }

  bool transfer_ready(std::vector<Outgoing>& sends, std::vector<Incoming>& receives, const Wait& wait) {
    size_t moved = 0;
    const auto pass = [&](auto& messages, auto&& transfer) {
      for (auto& message : messages) {
        if (message.bytes.empty()) continue;
        try {
          const size_t count = transfer(peers_[static_cast<size_t>(message.rank)], message.bytes);
          message.bytes = message.bytes.subspan(count);
          moved += count;
        } catch (const SystemError& error) {
          throw system_error("{}: rank {} is gone: {}", wait.where(), in_world(message.rank), error.what());
        }
      }
    };
    pass(sends, [](const Socket& socket, auto bytes) { return socket.send_some(bytes); });
    pass(receives, [](const Socket& socket, auto bytes) { return socket.receive_some(bytes); });
    return moved > 0;
  }

  std::vector<int> unfinished(const std::vector<Outgoing>& sends, const std::vector<Incoming>& receives) const {
    std::vector<int> ranks;
    const auto add = [&](const auto& message) {
      if (message.bytes.empty()) return;
      const int rank = in_world(message.rank);
      if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
    };
    for (const Incoming& message : receives) add(message);
    for (const Outgoing& message : sends) add(message);
    return ranks;
  }

  JobSecret secret_;
  std::vector<int> members_;
  int rank_;
  int size_;
  std::vector<Socket> peers_;
  bool broken_ = false;
  std::atomic<bool> abandoned_ = false;
};

}  // namespace

std::unique_ptr<Wire> make_tcp_wire(int rank, int size, const TcpStart& start, double timeout_s) {
  if (size > kMostRanks)
    throw user_error(
        "{} ranks were started with RANK and WORLD_SIZE: every two ranks would need a socket and a message in every "
        "collective, so at most {} ranks may start like this; start them with mpirun, or srun --mpi=pmix",
        size, kMostRanks);
  Wait wait({rank, size, -1}, {"start over tcp"}, timeout_s);
  std::vector<int> everyone(static_cast<size_t>(size));
  std::iota(everyone.begin(), everyone.end(), 0);
  return std::make_unique<TcpWire>(rendezvous(rank, size, start, wait), std::move(everyone), rank, wait);
}

}  // namespace roll
