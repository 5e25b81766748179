#include "transport/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <memory>
#include <utility>

#include "base/error.h"

namespace roll {

namespace {

constexpr time_t kConnect_s = 3;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const std::string& address, int port, int type) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = type;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code != 0) throw system_error("host {}: cannot be resolved ({})", address, ::gai_strerror(code));
  return {found, &::freeaddrinfo};
}

void make_ready(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

std::string text_of(const sockaddr_in& address) {
  std::array<char, INET_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET, &address.sin_addr, text.data(), text.size());
}

bool would_wait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) ::close(fd_);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

size_t Socket::send_some(std::span<const std::byte> bytes) const {
  const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count < 0 && !would_wait()) throw system_error("send failed{}", errno_text());
  return count < 0 ? 0 : static_cast<size_t>(count);
}

size_t Socket::receive_some(std::span<std::byte> bytes) const {
  const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), 0);
  if (count == 0) throw SystemError("the connection was closed");
  if (count < 0 && !would_wait()) throw system_error("receive failed{}", errno_text());
  return count < 0 ? 0 : static_cast<size_t>(count);
}

void Socket::send_all(std::span<const std::byte> bytes, const std::function<void()>& pause) const {
  while (!bytes.empty()) {
    const size_t count = send_some(bytes);
    bytes = bytes.subspan(count);
    if (count == 0) pause();
  }
}

void Socket::receive_all(std::span<std::byte> bytes, const std::function<void()>& pause) const {
  while (!bytes.empty()) {
    const size_t count = receive_some(bytes);
    bytes = bytes.subspan(count);
    if (count == 0) pause();
  }
}

Socket Socket::accept_one() const {
  Socket caller(::accept(fd_, nullptr, nullptr));
  if (caller.is_open()) make_ready(caller.fd());
  return caller;
}

int Socket::port() const {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw system_error("getsockname{}", errno_text());
  return ntohs(address.sin_port);
}

Socket listen_anywhere() {
  Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  if (!socket.is_open() || ::bind(socket.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.fd(), SOMAXCONN) != 0)
    throw system_error("cannot listen on a TCP port{}", errno_text());
  make_ready(socket.fd());
  return socket;
}

Socket connect_to(const std::string& address, int port) {
  const Addresses found = resolve(address, port, SOCK_STREAM);
  Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
  const timeval limit{kConnect_s, 0};
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (!socket.is_open() || ::connect(socket.fd(), found->ai_addr, found->ai_addrlen) != 0)
    throw system_error("cannot connect to {}:{}{}", address, port, errno_text());
  // Who knocks at a free port of this host can be given that very port for itself, and is then connected to itself.
  sockaddr_in own{};
  socklen_t length = sizeof own;
  ::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&own), &length);
  const auto* peer = reinterpret_cast<const sockaddr_in*>(found->ai_addr);
  if (own.sin_port == peer->sin_port && own.sin_addr.s_addr == peer->sin_addr.s_addr)
    throw system_error("cannot connect to {}:{} (nobody listens)", address, port);
  make_ready(socket.fd());
  return socket;
}

std::string own_address_towards(const std::string& address, int port) {
  const Addresses found = resolve(address, port, SOCK_DGRAM);
  const Socket socket(::socket(AF_INET, SOCK_DGRAM, 0));
  sockaddr_in own{};
  socklen_t length = sizeof own;
  // Connecting a datagram socket sends nothing; it only picks the route, and with it our address.
  if (!socket.is_open() || ::connect(socket.fd(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&own), &length) != 0)
    throw system_error("no route to {}:{}{}", address, port, errno_text());
  return text_of(own);
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) throw system_error("gethostname{}", errno_text());
  return name.data();
}

std::string own_address() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) throw system_error("getifaddrs{}", errno_text());
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> interfaces(first, &::freeifaddrs);
  for (const ifaddrs* each = first; each; each = each->ifa_next) {
    const bool useful = each->ifa_addr && each->ifa_addr->sa_family == AF_INET && (each->ifa_flags & IFF_UP) != 0;
    if (useful && !(each->ifa_flags & IFF_LOOPBACK)) return text_of(*reinterpret_cast<sockaddr_in*>(each->ifa_addr));
  }
  return "127.0.0.1";
}

}  // namespace roll
