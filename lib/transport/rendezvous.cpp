#include "transport/rendezvous.h"

#include <sys/stat.h>
#include <unistd.h>

#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace {

namespace fs = std::filesystem;
using Ranks = std::vector<int>;

constexpr std::chrono::milliseconds kBetweenCalls{10};

/// A place that only some can read, for a port and a secret. Rank 0 shows them, others read them; those of an earlier
/// job may be read first, and open nothing.
class Board {
 public:
  virtual ~Board() = default;
  virtual void show(const std::string& text) = 0;
  virtual std::optional<std::string> see() = 0;
  virtual void clear() = 0;
};

/// A file in a folder that only this user can enter.
class PrivateFile : public Board {
 public:
  explicit PrivateFile(int port)
      : folder_(fs::temp_directory_path() / fmt::format("roll-{}", ::getuid())),
        file_(folder_ / fmt::format("meeting-{}", port)) {}

  void show(const std::string& text) override {
    ::mkdir(folder_.c_str(), S_IRWXU);
    check_folder();
    write_file_atomic(file_, text);
  }
  std::optional<std::string> see() override {
    std::error_code absent;
    if (!fs::exists(file_, absent)) return std::nullopt;
    check_folder();
    std::string text;
    std::getline(std::ifstream(file_), text);
    return text;
  }
  void clear() override {
    std::error_code gone;
    fs::remove(file_, gone);
  }

 private:
  void check_folder() const {
    struct stat found {};
    if (::lstat(folder_.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) || found.st_uid != ::getuid() ||
        (found.st_mode & (S_IRWXG | S_IRWXO)) != 0)
      throw system_error(
          "{}: must be a folder that only this user may enter, because it holds the ranks' secret; remove it, or set "
          "ROLL_JOB_SECRET",
          folder_.string());
  }

  fs::path folder_, file_;
};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// The store of torchrun's agent, readable by anybody who reaches its port.
class AgentStore : public Board {
 public:
  AgentStore(const TcpStart& start, Wait& wait) : key_("roll/" + env("TORCHELASTIC_RESTART_COUNT").value_or("0")) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<uint16_t>(start.port);
    options.waitWorkers = false;
    options.timeout = std::chrono::milliseconds(30000);
    try {
      store_ = c10::make_intrusive<c10d::TCPStore>(start.address, options);
    } catch (const std::exception& error) {
      throw system_error("{}: cannot reach torchrun's store at {}:{}: {}", wait.where(), start.address, start.port,
                         first_line(error.what()));
    }
  }
  void show(const std::string& text) override { store_->set(key_, {text.begin(), text.end()}); }
  std::optional<std::string> see() override {
    if (!store_->check({key_})) return std::nullopt;
    const std::vector<uint8_t> bytes = store_->get(key_);
    return std::string(bytes.begin(), bytes.end());
  }
  void clear() override { store_->deleteKey(key_); }

 private:
  std::string key_;
  c10::intrusive_ptr<c10d::TCPStore> store_;
};

bool has_agent() {
  return env("TORCHELASTIC_USE_AGENT_STORE").value_or("False") == "True";
}

/// Returns true if the address means the loopback on every host; a host's own name may do so only on that host.
bool is_one_host(const TcpStart& start) {
  return start.one_host || start.address == "localhost" || start.address.starts_with("127.");
}

/// Rank 0's endpoint and secret, as one line.
struct Invitation {
  Endpoint endpoint;
  std::string secret;

  std::string text() const { return fmt::format("{} {} {}", endpoint.address, endpoint.port, secret); }
  static std::optional<Invitation> parse(const std::string& text) {
    Invitation invitation;
    std::istringstream in(text);
    if (!(in >> invitation.endpoint.address >> invitation.endpoint.port)) return std::nullopt;
    in >> invitation.secret;
    return invitation;
  }
};

/// Passes the invitation from rank 0 to the others: by environment, file or the agent's store.
class Inviter {
 public:
  Inviter(const TcpStart& start, Wait& wait) : start_(start) {
    if (has_agent()) store_ = std::make_unique<AgentStore>(start, wait);
    if (is_one_host(start) && start.secret.empty()) file_ = std::make_unique<PrivateFile>(start.port);
  }

  /// Publishes rank 0's invitation and opens the door; `secret` receives the door's secret.
  Door open(JobSecret& secret) {
    Socket listener = store_ ? listen_at({host().address, 0}) : listen_at_master();
    Invitation invitation{store_ ? listener.own_endpoint() : Endpoint{}, start_.secret};
    if (start_.secret.empty() && (file_ || store_)) invitation.secret = random_secret();
    secret = parse_secret(invitation.secret);
    if (file_) file_->show(invitation.text());
    if (file_ || !start_.secret.empty()) invitation.secret.clear();
    if (store_) store_->show(invitation.text());
    return {std::move(listener), secret};
  }
  void close() {
    if (file_) file_->clear();
    if (store_) store_->clear();
  }

  /// Reads the invitation on other ranks; nullopt if there is none yet.
  std::optional<Invitation> see() {
    Invitation invitation{is_one_host(start_) ? Endpoint{loopback().address, static_cast<uint32_t>(start_.port)}
                                              : resolve_endpoint(start_.address, start_.port),
                          start_.secret};
    if (store_) {
      const auto text = store_->see();
      const auto published = text ? Invitation::parse(*text) : std::nullopt;
      if (!published) return std::nullopt;
      invitation.endpoint = published->endpoint;
      if (start_.secret.empty()) invitation.secret = published->secret;
    }
    if (file_) {
      const auto text = file_->see();
      const auto published = text ? Invitation::parse(*text) : std::nullopt;
      if (!published) return std::nullopt;
      invitation.secret = published->secret;
    }
    return invitation;
  }

 private:
  Endpoint host() const {
    return is_one_host(start_) ? loopback() : own_endpoint_towards(resolve_endpoint(start_.address, start_.port));
  }
  /// Listens on MASTER_ADDR, unless this host has another address (behind a NAT, or by its own name).
  Socket listen_at_master() const {
    const auto port = static_cast<uint32_t>(start_.port);
    if (is_one_host(start_)) return listen_at({loopback().address, port});
    const Endpoint master = resolve_endpoint(start_.address, start_.port);
    const bool is_ours = !is_loopback(master) && own_endpoint_towards(master).address == master.address;
    return listen_at({is_ours ? master.address : 0, port});
  }

  const TcpStart& start_;
  std::unique_ptr<Board> store_, file_;
};

/// Rank 0's message to each other rank once all have come. The job's secret is never sent: ranks compute it from this
/// and the rendezvous's secret.
struct Announcement {
  Nonce nonce{};
  std::vector<Endpoint> endpoints;

  std::vector<std::byte> bytes() const {
    std::vector<std::byte> all(nonce.begin(), nonce.end());
    const auto endpoint_bytes = std::as_bytes(std::span(endpoints));
    all.insert(all.end(), endpoint_bytes.begin(), endpoint_bytes.end());
    return all;
  }
  Digest proof(const JobSecret& session) const { return make_proof(session, "announcement", bytes()); }
  JobSecret job_secret(const JobSecret& rendezvous_secret) const { return make_proof(rendezvous_secret, "job", nonce); }

  /// Receives and checks an announcement. ConnectionLost: it was changed on its way.
  static Announcement receive(const Socket& socket, size_t size, const JobSecret& session,
                              const std::function<void()>& pause) {
    Announcement announcement{{}, std::vector<Endpoint>(size)};
    Digest proof{};
    socket.receive_all(announcement.nonce, pause);
    socket.receive_all(std::as_writable_bytes(std::span(announcement.endpoints)), pause);
    socket.receive_all(proof, pause);
    if (!are_equal(proof, announcement.proof(session))) throw ConnectionLost("rank 0's message was changed in transit");
    return announcement;
  }
};

Rendezvous receive_all(int size, Inviter& inviter, Wait& wait) {
  Rendezvous result;
  std::vector<JobSecret> sessions(static_cast<size_t>(size));
  result.peers.resize(static_cast<size_t>(size));
  result.endpoints.resize(static_cast<size_t>(size));
  const auto missing = [&] {
    Ranks ranks;
    for (int i = 1; i < size; ++i)
      if (!result.peers[static_cast<size_t>(i)].is_open()) ranks.push_back(i);
    return ranks;
  };
  Door door = inviter.open(result.secret);
  while (!missing().empty()) {
    std::optional<Guest> guest = door.next();
    if (!guest) {
      wait.pause(missing);
    } else if (guest->hello.rank > 0 && guest->hello.rank < result.peers.size()) {
      result.endpoints[guest->hello.rank] = guest->hello.endpoint;
      sessions[guest->hello.rank] = guest->session;
      result.peers[guest->hello.rank] = std::move(guest->socket);  // the last call wins
    }
  }
  inviter.close();
  const Announcement announcement{fresh_nonce(), result.endpoints};
  result.secret = announcement.job_secret(result.secret);
  for (int i = 1; i < size; ++i) try {
      const auto pause = [&] { wait.pause([&] { return Ranks{i}; }); };
      const auto peer = static_cast<size_t>(i);
      result.peers[peer].send_all(announcement.bytes(), pause);
      result.peers[peer].send_all(announcement.proof(sessions[peer]), pause);
    } catch (const ConnectionLost& error) {
      throw system_error("{}: rank {} is gone: {}", wait.where(), i, error.what());
    }
  return result;
}

/// Calls rank 0 once. ConnectionLost: it does not listen yet, or the invitation is an earlier job's.
Rendezvous call_first(int rank, int size, const Invitation& invitation, Wait& wait) {
  const auto pause = [&] { wait.pause([] { return Ranks{0}; }); };
  Rendezvous result;
  result.peers.resize(static_cast<size_t>(size));
  Socket socket = connect_to(invitation.endpoint);
  result.listener = listen_at({socket.own_endpoint().address, 0});
  const JobSecret secret = parse_secret(invitation.secret);
  DoorVisit visit(std::move(socket), secret, {static_cast<uint64_t>(rank), result.listener.own_endpoint()});
  while (!visit.go_on()) pause();
  socket = visit.take_socket();
  const Announcement announcement = Announcement::receive(socket, static_cast<size_t>(size), visit.session(), pause);
  result.secret = announcement.job_secret(secret);
  result.endpoints = announcement.endpoints;
  result.peers[0] = std::move(socket);
  return result;
}

}  // namespace

Rendezvous rendezvous(int rank, int size, const TcpStart& start, Wait& wait) {
  Inviter inviter(start, wait);
  if (rank == 0) return receive_all(size, inviter, wait);
  while (true) {
    try {
      if (const auto invitation = inviter.see()) return call_first(rank, size, *invitation, wait);
    } catch (const ConnectionLost&) {  // rank 0 does not listen yet
    }
    std::this_thread::sleep_for(kBetweenCalls);
    wait.pause([] { return Ranks{0}; });
  }
}

}  // namespace roll
