// Socket calls for the tcp back-end, with errors that name the peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/descriptor.h"
#include "base/error.h"

namespace roll {

/// The peer is gone, or nobody listens.
struct ConnectionLost : SystemError {
  using SystemError::SystemError;
};

/// Address and port of a listener.
struct Endpoint {
  uint32_t address = 0;  // IPv4, in the network's byte order
  uint32_t port = 0;
};
/// "10.0.0.1:29500"
std::string to_string(const Endpoint& endpoint);
/// Returns a host's first IPv4 address with `port`. ConnectionLost: the name does not resolve.
Endpoint resolve_endpoint(const std::string& host, int port);
bool is_loopback(const Endpoint& endpoint);
/// Returns 127.0.0.1, any port.
Endpoint loopback();

/// A TCP socket, closed with its owner; -1 means none.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  int fd() const { return fd_.get(); }
  bool is_open() const { return static_cast<bool>(fd_); }

  /// Sends or receives as much as possible without waiting; returns the number of bytes. ConnectionLost: the peer is
  /// gone.
  size_t send_some(std::span<const std::byte> bytes) const;
  size_t receive_some(std::span<std::byte> bytes) const;
  /// Sends or receives all bytes; calls `pause`, which may throw, between attempts.
  void send_all(std::span<const std::byte> bytes, const std::function<void()>& pause) const;
  void receive_all(std::span<std::byte> bytes, const std::function<void()>& pause) const;
  /// Returns the next caller of a listening socket; a closed socket if there is none now.
  Socket accept_one() const;
  Endpoint own_endpoint() const;

 private:
  Descriptor fd_;
};

/// Listens on that address only; port 0 takes a free one. SystemError: that is impossible.
Socket listen_at(const Endpoint& endpoint);

/// Connects. ConnectionLost: nobody listens there, or nothing answers within 3 s.
Socket connect_to(const Endpoint& endpoint);

/// Starts connecting, without waiting. Once writable, it is_connected(), which throws ConnectionLost on failure.
Socket begin_connecting(const Endpoint& endpoint);
bool is_connected(const Socket& socket);

/// Appends received bytes to `text`, up to `most` bytes in all. ConnectionLost: the peer is gone.
void receive_into(std::string& text, const Socket& socket, size_t most);

/// Returns our own address (without a port) as that endpoint would see it. SystemError: there is no route.
Endpoint own_endpoint_towards(const Endpoint& endpoint);

/// Returns this host's name. SystemError: unknown.
std::string host_name();
/// Returns this host's first IPv4 address except the loopback; "127.0.0.1" if there is no other. SystemError: unknown.
std::string own_address();

}  // namespace roll
