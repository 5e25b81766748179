// A listening port (the door) that only callers who know a secret may enter: ranks of a job (rendezvous.h,
// tcp_wire.cpp), and clients of an environment server (lib/environment). Caller and door prove to each other (proof.h)
// that they know the secret, by three messages:
//   door    a fresh random number
//   caller  a fresh random number, a Hello, and the caller's proof over both numbers and the Hello
//   door    the door's proof over the same data
// A connection that sends anything else, is closed, or takes longer than 10 s is dropped without an error.
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
  uint64_t rank = 0;    // the caller's rank in the job
  Endpoint endpoint{};  // address at which the caller itself listens; {} if it does not
};

/// Data that both proofs cover, as bytes.
struct Handshake {
  Nonce door_nonce{}, caller_nonce{};  // the fresh numbers
  Hello hello{};
};
static_assert(sizeof(Handshake) == 80);  // no padding: the bytes are sent and signed

/// A caller after both sides have proved that they know the secret.
struct Guest {
  Hello hello;
  JobSecret session;  // secret of this connection only; equals the caller's DoorVisit::session()
  Socket socket;      // connected to the caller
};

/// The listening side.
class Door {
 public:
  /// `listener`: a listening socket (listen_at()).
  Door(Socket listener, const JobSecret& secret) : listener_(std::move(listener)), secret_(secret) {}
  /// Returns the address and port at which it listens.
  Endpoint endpoint() const { return listener_.own_endpoint(); }

  /// Receives and answers messages without waiting; returns a caller who has proved to know the secret, nullopt if
  /// there is none now. Call it again until it returns nullopt.
  std::optional<Guest> next();
  /// Appends to `polls`, for poll(), the descriptors that become readable when next() has work.
  void add_polls(std::vector<pollfd>& polls) const;

 private:
  struct Caller {
    Socket socket;
    Handshake handshake;
    Digest proof;
    size_t num_received;  // bytes received from the caller
    double since_s;       // time of the connection, monotonic_s()
  };
  bool has_room() const;
  void accept_all();
  std::optional<Guest> receive_from_callers();
  /// Returns true once the caller's message is complete. Throws ConnectionLost if the caller is gone.
  bool receive_message(Caller& caller) const;
  /// Returns the caller as a guest; nullopt if the proof is wrong. Throws ConnectionLost if the caller is gone.
  std::optional<Guest> authenticate(Caller& caller) const;

  Socket listener_;
  JobSecret secret_;
  std::list<Caller> callers_;  // callers whose messages are incomplete
};

/// The caller's side of one connection.
class DoorVisit {
 public:
  /// `socket`: connected to the door; `hello`: introduces this process.
  DoorVisit(Socket socket, const JobSecret& secret, const Hello& hello);
  /// Receives and answers messages without waiting; returns true once the door has proved that it knows the secret.
  /// Throws ConnectionLost if the door does not know it or is gone.
  bool go_on();
  /// Descriptor to wait for until go_on() has work.
  int fd() const { return socket_.fd(); }
  // Only after go_on() has returned true:
  /// Returns the secret of this connection only.
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
