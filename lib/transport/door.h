// Authenticates TCP connections by a shared secret. Door is the listening side, DoorVisit the calling side. Used by the
// ranks of a job (rendezvous.h, tcp_wire.cpp), and by clients of an environment server (lib/environment). Caller and
// door prove to each other (proof.h) that they know the secret, by three messages:
//   door    a fresh random number
//   caller  a fresh random number, a Hello, and the caller's proof over both numbers and the Hello
//   door    the door's proof over the same data
// The door drops a connection without an error if it sends anything else, is closed, or takes longer than 10 s. It
// serves 256 callers at once; if more come, it drops the oldest.
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

/// An authenticated caller: it has proved that it knows the secret.
struct Guest {
  Hello hello;
  JobSecret session;  // secret of this connection only; the same as the caller's DoorVisit::session()
  Socket socket;      // connected to the caller
};

/// The listening side. Not thread-safe; no function waits.
class Door {
 public:
  /// `listener`: a listening socket (listen_at()).
  Door(Socket listener, const JobSecret& secret) : listener_(std::move(listener)), secret_(secret) {}
  /// Returns the address and port at which the door listens.
  Endpoint endpoint() const { return listener_.own_endpoint(); }

  /// Accepts callers, and receives and answers messages. Returns one caller that is now authenticated; nullopt if there
  /// is none. Call it again until it returns nullopt, then wait with poll().
  std::optional<Guest> next();
  /// Appends to `polls` the descriptors that become readable when next() has work.
  void add_polls(std::vector<pollfd>& polls) const;

 private:
  struct Caller {
    Socket socket;
    Handshake handshake;
    Digest proof;
    size_t num_received;  // bytes received so far
    double since_s;       // time at which it connected, by monotonic_s()
  };
  bool has_room() const;
  void accept_all();
  std::optional<Guest> receive_from_callers();
  /// Returns true once the caller's message is complete. Throws ConnectionLost if the caller is gone.
  bool receive_message(Caller& caller) const;
  /// Checks the caller's proof and sends the door's; nullopt if the proof is wrong. Throws ConnectionLost if the caller
  /// is gone.
  std::optional<Guest> authenticate(Caller& caller) const;

  Socket listener_;
  JobSecret secret_;
  std::list<Caller> callers_;  // callers whose messages are incomplete
};

/// The calling side of one connection. Not thread-safe; no function waits.
class DoorVisit {
 public:
  /// `socket`: connected to the door (connect_to()); `hello`: introduces this process.
  DoorVisit(Socket socket, const JobSecret& secret, const Hello& hello);
  /// Receives and answers messages. Returns true once the door has proved that it knows the secret; before, call it
  /// again when fd() is readable. Throws ConnectionLost if the door does not know the secret or is gone.
  bool go_on();
  /// Returns the descriptor that becomes readable when go_on() has work.
  int fd() const { return socket_.fd(); }
  /// Returns the secret of this connection only. Call it only after go_on() has returned true.
  JobSecret session() const;
  /// Moves the authenticated connection out. Call it only after go_on() has returned true.
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
