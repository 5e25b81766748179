// Non-blocking IPv4 TCP sockets, with errors that say why. Used in lib/transport, lib/job and lib/environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/descriptor.h"
#include "base/error.h"

namespace roll {

/// Error: the peer is gone, nobody listens, or a host's name is unknown.
struct ConnectionLost : SystemError {
  using SystemError::SystemError;
};

/// Address and port at which a process listens.
struct Endpoint {
  uint32_t address = 0;  // IPv4, in the network's byte order
  uint32_t port = 0;     // in the host's byte order; 0: any
};
/// Returns "10.0.0.1:29500".
std::string to_string(const Endpoint& endpoint);
/// Returns a host's first IPv4 address with `port`. Throws ConnectionLost if the name does not resolve.
Endpoint resolve_endpoint(const std::string& host, int port);
/// Returns true for addresses 127.x.x.x.
bool is_loopback(const Endpoint& endpoint);
/// Returns 127.0.0.1 with port 0.
Endpoint loopback();

/// Owns a TCP socket, which the destructor closes.
class Socket {
 public:
  /// Makes a closed socket (fd() is -1).
  Socket() = default;
  /// Takes ownership of the descriptor; -1: a closed socket.
  explicit Socket(int fd) : fd_(fd) {}
  int fd() const { return fd_.get(); }
  bool is_open() const { return static_cast<bool>(fd_); }

  /// Send or receive as many bytes as possible without waiting; return their number, which may be 0. The buffer of
  /// receive_some() must not be empty. Throw ConnectionLost if the peer is gone.
  size_t send_some(std::span<const std::byte> bytes) const;
  size_t receive_some(std::span<std::byte> bytes) const;
  /// Send or receive all bytes. Whenever none can be sent or received, they call `pause`, which may throw. Throw
  /// ConnectionLost if the peer is gone.
  void send_all(std::span<const std::byte> bytes, const std::function<void()>& pause) const;
  void receive_all(std::span<std::byte> bytes, const std::function<void()>& pause) const;
  /// Returns the connection of the next caller; a closed socket if nobody calls now. Only for a listening socket.
  Socket accept_one() const;
  /// Returns the local address and port.
  Endpoint own_endpoint() const;

 private:
  Descriptor fd_;
};

/// Returns a socket that listens on that address only; port 0 takes a free port. Throws SystemError if it cannot
/// listen.
Socket listen_at(const Endpoint& endpoint);

/// Returns a connected socket; waits for the connection. Throws ConnectionLost if nobody listens there, or if nothing
/// answers within 3 s.
Socket connect_to(const Endpoint& endpoint);

/// Starts connecting, without waiting, and returns the socket. When poll() says that it is writable, call
/// is_connected(). Throws ConnectionLost if the connection fails at once, SystemError if there is no free descriptor.
Socket begin_connecting(const Endpoint& endpoint);
/// Returns true if the connection is made, false if it is still being made; throws ConnectionLost if it failed.
bool is_connected(const Socket& socket);

/// Appends bytes that have arrived to `text`, until text.size() is `most` or no more have arrived; does not wait.
/// Throws ConnectionLost if the peer is gone.
void receive_into(std::string& text, const Socket& socket, size_t most);

/// Returns the address of this host, with port 0, that it uses to reach `endpoint`. Sends nothing. Throws SystemError
/// if there is no route.
Endpoint own_endpoint_towards(const Endpoint& endpoint);

/// Returns this host's name. Throws SystemError if the system does not tell.
std::string host_name();
/// Returns this host's first IPv4 address except the loopback; "127.0.0.1" if there is no other. Throws SystemError if
/// the system does not tell.
std::string own_address();

}  // namespace roll
