// A listening port with mutual authentication: only ranks of this job get through. Caller and door prove to each other
// that they know the job's secret, within a short time:
//   door    a fresh number
//   caller  a fresh number, who it is, and its proof over both numbers and that
//   door    its own proof over the same
// A connection on which anything else comes, nothing comes, or that is closed, is dropped; the ranks neither wait for
// it nor fail because of it.
#pragma once

#include <poll.h>

#include <list>
#include <optional>
#include <vector>

#include "transport/proof.h"
#include "transport/socket.h"

namespace roll {

/// What a caller says of itself.
struct Hello {
  uint64_t rank = 0;
  Endpoint endpoint{};  // where the caller itself listens; nowhere: {}
};

/// A conversation, as its proofs cover it.
struct Handshake {
  Nonce of_door{}, of_caller{};
  Hello hello{};
};
static_assert(sizeof(Handshake) == 80);  // all bytes are members': they travel, and are signed

/// Both sides know who the other is.
struct Guest {
  Hello hello;
  JobSecret session;  // of this conversation alone
  Socket socket;
};

class Door {
 public:
  Door(Socket listener, const JobSecret& secret) : listener_(std::move(listener)), secret_(secret) {}
  Endpoint endpoint() const { return listener_.own_endpoint(); }

  /// The next caller who knows the secret, without waiting for one.
  std::optional<Guest> next();
  /// One is ready when next() has something to do; who waits for room is let in at a later look.
  void add_polls(std::vector<pollfd>& polls) const;

 private:
  struct Caller {
    Socket socket;
    Handshake said;
    Digest proof;
    size_t num_received;  // of what a caller says
    double since_s;
  };
  bool has_room() const;
  void accept_all();
  std::optional<Guest> hear_all();
  /// Whether it has said everything. ConnectionLost.
  bool listen_to(Caller& caller) const;
  /// The caller as a guest; nullopt: its proof is wrong. ConnectionLost.
  std::optional<Guest> guest_of(Caller& caller) const;

  Socket listener_;
  JobSecret secret_;
  std::list<Caller> callers_;  // who have not said everything yet
};

/// The caller's side.
class DoorVisit {
 public:
  DoorVisit(Socket socket, const JobSecret& secret, const Hello& hello);
  /// Goes on without waiting; whether the door has proved that it knows the secret. ConnectionLost: it has not.
  bool go_on();
  int fd() const { return socket_.fd(); }
  /// Once it has:
  JobSecret session() const;
  Socket take_socket() { return std::move(socket_); }

 private:
  void answer();

  Socket socket_;
  JobSecret secret_;
  Handshake said_;
  Digest proof_{};           // the door's
  size_t num_received_ = 0;  // of what a door says
};

}  // namespace roll
