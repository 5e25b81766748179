// A listening port with mutual authentication: only ranks of this job get in. Within a short time, caller and door
// prove to each other that they know the job's secret:
//   door    a fresh number
//   caller  a fresh number, its rank and endpoint, and its proof over both numbers and these
//   door    its own proof over the same data
// A connection that is silent, closed or sends anything else is dropped; ranks neither wait for it nor fail because of
// it.
#pragma once

#include <poll.h>

#include <list>
#include <optional>
#include <vector>

#include "transport/proof.h"
#include "transport/socket.h"

namespace roll {

/// The caller's introduction.
struct Hello {
  uint64_t rank = 0;
  Endpoint endpoint{};  // the caller's own listening port; {} if none
};

/// The contents of a conversation, as covered by the proofs.
struct Handshake {
  Nonce door_nonce{}, caller_nonce{};
  Hello hello{};
};
static_assert(sizeof(Handshake) == 80);  // no padding: the bytes are sent and signed

/// A caller after both sides have authenticated.
struct Guest {
  Hello hello;
  JobSecret session;  // secret of this conversation only
  Socket socket;
};

class Door {
 public:
  Door(Socket listener, const JobSecret& secret) : listener_(std::move(listener)), secret_(secret) {}
  Endpoint endpoint() const { return listener_.own_endpoint(); }

  /// Returns the next caller who knows the secret, without waiting.
  std::optional<Guest> next();
  /// Adds descriptors that become ready when next() has work. Callers beyond the limit wait for a later call.
  void add_polls(std::vector<pollfd>& polls) const;

 private:
  struct Caller {
    Socket socket;
    Handshake handshake;
    Digest proof;
    size_t num_received;  // bytes received from the caller
    double since_s;
  };
  bool has_room() const;
  void accept_all();
  std::optional<Guest> receive_from_callers();
  /// Returns true once the caller's message is complete. ConnectionLost: the caller is gone.
  bool receive_message(Caller& caller) const;
  /// Returns the caller as a guest; nullopt: its proof is wrong. ConnectionLost: the caller is gone.
  std::optional<Guest> authenticate(Caller& caller) const;

  Socket listener_;
  JobSecret secret_;
  std::list<Caller> callers_;  // callers whose messages are incomplete
};

/// The caller's side.
class DoorVisit {
 public:
  DoorVisit(Socket socket, const JobSecret& secret, const Hello& hello);
  /// Continues without waiting; returns true once the door has proved that it knows the secret. ConnectionLost: it
  /// lacks it, or is gone.
  bool go_on();
  int fd() const { return socket_.fd(); }
  /// Valid once go_on() has returned true:
  JobSecret session() const;
  Socket take_socket() { return std::move(socket_); }

 private:
  void answer();

  Socket socket_;
  JobSecret secret_;
  Handshake handshake_;
  Digest proof_{};           // the door's
  size_t num_received_ = 0;  // bytes received from the door
};

}  // namespace roll
