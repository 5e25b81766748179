// The few socket calls that the tcp back-end needs, with errors that name the peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "base/descriptor.h"
#include "base/error.h"

namespace roll {

/// The peer is gone, or nobody is there.
struct ConnectionLost : SystemError {
  using SystemError::SystemError;
};

/// Where somebody listens.
struct Endpoint {
  uint32_t address = 0;  // IPv4, in the network's byte order
  uint32_t port = 0;
};
/// "10.0.0.1:29500"
std::string to_string(const Endpoint& endpoint);
/// The first IPv4 address of a host. ConnectionLost: the name does not resolve.
Endpoint endpoint_of(const std::string& host, int port);
bool is_loopback(const Endpoint& endpoint);
/// 127.0.0.1, any port.
Endpoint loopback();

/// A TCP socket, closed with its owner; -1 is none.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  int fd() const { return fd_.get(); }
  bool is_open() const { return static_cast<bool>(fd_); }

  /// How many bytes went through now, without waiting; 0 when none can. ConnectionLost.
  size_t send_some(std::span<const std::byte> bytes) const;
  size_t receive_some(std::span<std::byte> bytes) const;
  /// All of them; `pause` is called between looks and may throw.
  void send_all(std::span<const std::byte> bytes, const std::function<void()>& pause) const;
  void receive_all(std::span<std::byte> bytes, const std::function<void()>& pause) const;
  /// The next caller of a listening socket, or a closed socket when there is none now.
  Socket accept_one() const;
  Endpoint own_endpoint() const;

 private:
  Descriptor fd_;
};

/// Listens there, and nowhere else; port 0 is a free one. SystemError.
Socket listen_at(const Endpoint& endpoint);

/// ConnectionLost when nobody listens there, or nothing answers within 3 s.
Socket connect_to(const Endpoint& endpoint);

/// The same without waiting: once it can be written to, it is_connected(), or ConnectionLost says why not.
Socket begin_connecting(const Endpoint& endpoint);
bool is_connected(const Socket& socket);

/// What has come, behind `text`, until that has `most` bytes. ConnectionLost.
void receive_into(std::string& text, const Socket& socket, size_t most);

/// Our own address (without a port) as that endpoint would see it. SystemError.
Endpoint own_endpoint_towards(const Endpoint& endpoint);

/// This host's name. SystemError.
std::string host_name();
/// Its first IPv4 address that is not the loopback; "127.0.0.1" when it has no other. SystemError.
std::string own_address();

}  // namespace roll
