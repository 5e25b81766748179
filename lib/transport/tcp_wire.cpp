// Sockets between all pairs of ranks, for processes that were started with RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT.
// The store is c10d's, so that torchrun's agent, which already holds MASTER_PORT, can serve it.
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>

#include "base/env.h"
#include "base/error.h"
#include "transport/socket.h"
#include "transport/wire.h"

namespace roll {

namespace {

using Store = c10::intrusive_ptr<c10d::TCPStore>;
constexpr std::chrono::milliseconds kAnswer{30000};

c10d::TCPStoreOptions store_options(bool is_server, int port) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(port);
  options.isServer = is_server;
  options.waitWorkers = false;
  options.timeout = kAnswer;
  return options;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// The ranks start in any order: waits until somebody listens. Before that c10d would fill the terminal with warnings.
void await_server(const std::string& address, int port, Wait& wait) {
  while (true) {
    try {
      connect_to(address, port);
      return;
    } catch (const SystemError&) {
      wait.pause([] { return std::vector<int>{0}; });
    }
  }
}

Store open_store(int rank, const std::string& address, int port, Wait& wait) {
  const bool is_server = rank == 0 && env("TORCHELASTIC_USE_AGENT_STORE").value_or("False") != "True";
  if (!is_server) await_server(address, port, wait);
  try {
    return c10::make_intrusive<c10d::TCPStore>(address, store_options(is_server, port));
  } catch (const std::exception& error) {
    throw system_error("{}: cannot {} the store at {}:{}: {}", wait.where(), is_server ? "open" : "reach", address,
                       port, first_line(error.what()));
  }
}

std::string stored_text(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

std::vector<uint8_t> bytes_to_store(const std::string& text) {
  return {text.begin(), text.end()};
}

std::string fetch(Store& store, const std::string& key, int from, Wait& wait) {
  while (!store->check({key})) wait.pause([&] { return std::vector<int>{from}; });
  return stored_text(store->get(key));
}

/// The first words on a connection: a stranger who finds the port does not know the token.
struct Hello {
  uint64_t token;
  uint64_t rank;
};

/// How ranks find each other, shared by a wire and those split from it: rank 0 holds the store for all of them.
struct Meeting {
  std::string address;
  int port = 0;
  Store store;
  uint64_t token = 0;
  int num_channels = 0;
};

std::shared_ptr<Meeting> open_meeting(int rank, const std::string& address, int port, Wait& wait) {
  auto meeting = std::make_shared<Meeting>();
  meeting->address = address, meeting->port = port;
  meeting->store = open_store(rank, address, port, wait);
  if (rank == 0)
    meeting->store->set("roll/token", bytes_to_store(std::to_string(std::random_device()() * 0x100000001ull + 1)));
  meeting->token = std::stoull(fetch(meeting->store, "roll/token", 0, wait));
  return meeting;
}

class TcpWire : public Wire {
 public:
  /// `members`: ranks of the world, this process is members[rank].
  TcpWire(std::shared_ptr<Meeting> meeting, std::vector<int> members, int rank, Wait& wait)
      : meeting_(std::move(meeting)),
        members_(std::move(members)),
        rank_(rank),
        size_(std::ssize(members_)),
        channel_(meeting_->num_channels++) {
    peers_.resize(members_.size());
    const Socket listener = listen_anywhere();
    meeting_->store->set(
        key_of(rank),
        bytes_to_store(fmt::format("{}:{}", own_address_towards(meeting_->address, meeting_->port), listener.port())));
    // Rank 0 last: once it has met everybody, nobody needs its store until the next wire is made.
    for (int lower = rank - 1; lower >= 0; --lower) call(lower, wait);
    while (!missing().empty()) answer(listener, wait);
  }

  std::unique_ptr<Wire> split(const std::vector<int>& members, double timeout_s) override {
    std::vector<int> processes;
    for (const int member : members) processes.push_back(in_world(member));
    const auto own = std::find(members.begin(), members.end(), rank_) - members.begin();
    Wait wait({in_world(rank_), size_, -1}, "start of a group over tcp", timeout_s);
    return std::make_unique<TcpWire>(meeting_, std::move(processes), static_cast<int>(own), wait);
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
      const bool moved = move_some(sends, receives, wait);
      const std::vector<int> late = unfinished(sends, receives);
      if (late.empty()) break;
      if (!moved) wait.pause([&] { return late; });
      if (abandoned_) throw system_error("{}: given up, because this rank failed elsewhere", wait.where());
    }
    broken_ = false;
  }

 private:
  std::string key_of(int member) const { return fmt::format("roll/channel{}/rank{}", channel_, in_world(member)); }

  std::vector<int> missing() const {
    std::vector<int> ranks;
    for (int i = 0; i < size_; ++i)
      if (i != rank_ && !peers_[static_cast<size_t>(i)].is_open()) ranks.push_back(in_world(i));
    return ranks;
  }

  void call(int lower, Wait& wait) {
    const std::string place = fetch(meeting_->store, key_of(lower), in_world(lower), wait);
    const size_t colon = place.rfind(':');
    Socket socket = connect_to(place.substr(0, colon), std::stoi(place.substr(colon + 1)));
    const Hello hello{meeting_->token + static_cast<uint64_t>(channel_), static_cast<uint64_t>(rank_)};
    socket.send_all(std::as_bytes(std::span(&hello, 1)), [&] { wait.pause([&] { return missing(); }); });
    peers_[static_cast<size_t>(lower)] = std::move(socket);
  }

  void answer(const Socket& listener, Wait& wait) {
    Socket caller = listener.accept_one();
    if (!caller.is_open()) return wait.pause([&] { return missing(); });
    Hello hello{};
    caller.receive_all(std::as_writable_bytes(std::span(&hello, 1)), [&] { wait.pause([&] { return missing(); }); });
    if (hello.token == meeting_->token + static_cast<uint64_t>(channel_) && hello.rank < peers_.size())
      peers_[hello.rank] = std::move(caller);
  }

  bool move_some(std::vector<Outgoing>& sends, std::vector<Incoming>& receives, const Wait& wait) {
    size_t moved = 0;
    const auto pass = [&](auto& messages, auto&& some) {
      for (auto& message : messages) {
        if (message.bytes.empty()) continue;
        try {
          const size_t count = some(peers_[static_cast<size_t>(message.rank)], message.bytes);
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

  std::shared_ptr<Meeting> meeting_;
  std::vector<int> members_;
  int rank_;
  int size_;
  int channel_;
  std::vector<Socket> peers_;
  bool broken_ = false;
  std::atomic<bool> abandoned_ = false;
};

}  // namespace

std::unique_ptr<Wire> make_tcp_wire(int rank, int size, const std::string& address, int port, double timeout_s) {
  Wait wait({rank, size, -1}, "start over tcp", timeout_s);
  std::vector<int> everyone(static_cast<size_t>(size));
  std::iota(everyone.begin(), everyone.end(), 0);
  return std::make_unique<TcpWire>(open_meeting(rank, address, port, wait), std::move(everyone), rank, wait);
}

}  // namespace roll
