// The few socket calls that the tcp back-end needs, with errors that name the peer.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace roll {

/// A TCP socket, closed with its owner; -1 is none.
class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  ~Socket();
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  int fd() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

  /// How many bytes went through now, without waiting; 0 when none can. SystemError when the peer is gone.
  size_t send_some(std::span<const std::byte> bytes) const;
  size_t receive_some(std::span<std::byte> bytes) const;
  /// All of them; `pause` is called between looks and may throw.
  void send_all(std::span<const std::byte> bytes, const std::function<void()>& pause) const;
  void receive_all(std::span<std::byte> bytes, const std::function<void()>& pause) const;
  /// The next caller of a listening socket, or a closed socket when there is none now.
  Socket accept_one() const;
  int port() const;

 private:
  int fd_;
};

/// Listens on a free port of all addresses. SystemError.
Socket listen_anywhere();

/// SystemError when nobody listens there, or nothing answers within 3 s.
Socket connect_to(const std::string& address, int port);

/// Our own address as a host at `address`:`port` would see it. SystemError: the name does not resolve.
std::string own_address_towards(const std::string& address, int port);

/// This host's name, and its first IPv4 address that is not the loopback ("127.0.0.1" when it has no other).
/// SystemError.
std::string host_name();
std::string own_address();

}  // namespace roll
