#include "transport/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <memory>

#include "base/error.h"

namespace roll {

namespace {

constexpr time_t kConnect_s = 3;

sockaddr_in bound_address(const Endpoint& endpoint) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = endpoint.address;
  address.sin_port = htons(static_cast<uint16_t>(endpoint.port));
  return address;
}

Endpoint resolve_endpoint(const sockaddr_in& address) {
  return {address.sin_addr.s_addr, ntohs(address.sin_port)};
}

void make_ready(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

std::string address_text(const Endpoint& endpoint) {
  std::array<char, INET_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET, &endpoint.address, text.data(), text.size());
}

bool would_wait() {
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  return fmt::format("{}:{}", address_text(endpoint), endpoint.port);
}

Endpoint resolve_endpoint(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (code != 0) throw ConnectionLost(fmt::format("host {}: cannot be resolved ({})", host, ::gai_strerror(code)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  return {reinterpret_cast<const sockaddr_in*>(found->ai_addr)->sin_addr.s_addr, static_cast<uint32_t>(port)};
}

bool is_loopback(const Endpoint& endpoint) {
  return ntohl(endpoint.address) >> 24 == 127;
}

Endpoint loopback() {
  return {htonl(INADDR_LOOPBACK), 0};
}

size_t Socket::send_some(std::span<const std::byte> bytes) const {
  const ssize_t count = ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count < 0 && !would_wait()) throw ConnectionLost("send failed" + errno_text());
  return count < 0 ? 0 : static_cast<size_t>(count);
}

size_t Socket::receive_some(std::span<std::byte> bytes) const {
  const ssize_t count = ::recv(fd(), bytes.data(), bytes.size(), 0);
  if (count == 0) throw ConnectionLost("the connection was closed");
  if (count < 0 && !would_wait()) throw ConnectionLost("receive failed" + errno_text());
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
  Socket caller(::accept(fd(), nullptr, nullptr));
  if (caller.is_open()) make_ready(caller.fd());
  return caller;
}

Endpoint Socket::own_endpoint() const {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    throw system_error("getsockname{}", errno_text());
  return resolve_endpoint(address);
}

Socket listen_at(const Endpoint& endpoint) {
  Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
  const sockaddr_in address = bound_address(endpoint);
  const int on = 1;  // reuse the port of a job that has just ended
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!socket.is_open() || ::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.fd(), SOMAXCONN) != 0)
    throw system_error("cannot listen at {}{}", to_string(endpoint), errno_text());
  make_ready(socket.fd());
  return socket;
}

Socket connect_to(const Endpoint& endpoint) {
  Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
  const timeval limit{kConnect_s, 0};
  ::setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const sockaddr_in address = bound_address(endpoint);
  if (!socket.is_open() || ::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw ConnectionLost(fmt::format("cannot connect to {}{}", to_string(endpoint), errno_text()));
  // A caller at a free port of this host may get that same port, and then connects to itself.
  const Endpoint own_end = socket.own_endpoint();
  if (own_end.port == endpoint.port && own_end.address == endpoint.address)
    throw ConnectionLost(fmt::format("cannot connect to {} (nobody listens)", to_string(endpoint)));
  make_ready(socket.fd());
  return socket;
}

Socket begin_connecting(const Endpoint& endpoint) {
  Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
  if (!socket.is_open()) throw system_error("socket{}", errno_text());
  make_ready(socket.fd());
  const sockaddr_in address = bound_address(endpoint);
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno != EINPROGRESS)
    throw ConnectionLost(fmt::format("cannot connect to {}{}", to_string(endpoint), errno_text()));
  return socket;
}

bool is_connected(const Socket& socket) {
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  errno = error;
  if (error != 0) throw ConnectionLost("cannot connect" + errno_text());
  sockaddr_in peer{};
  length = sizeof peer;
  return ::getpeername(socket.fd(), reinterpret_cast<sockaddr*>(&peer), &length) == 0;
}

void receive_into(std::string& text, const Socket& socket, size_t most) {
  std::array<std::byte, 65536> buffer;
  while (text.size() < most) {
    const size_t count = socket.receive_some(std::span(buffer).first(std::min(buffer.size(), most - text.size())));
    if (count == 0) return;
    text.append(reinterpret_cast<const char*>(buffer.data()), count);
  }
}

Endpoint own_endpoint_towards(const Endpoint& endpoint) {
  const Socket socket(::socket(AF_INET, SOCK_DGRAM, 0));
  const sockaddr_in address = bound_address(endpoint);
  // Connecting a datagram socket sends nothing; it only selects the route, and so our address.
  if (!socket.is_open() || ::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw system_error("no route to {}{}", to_string(endpoint), errno_text());
  return {socket.own_endpoint().address, 0};
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
  for (const ifaddrs* interface = first; interface; interface = interface->ifa_next) {
    const bool useful =
        interface->ifa_addr && interface->ifa_addr->sa_family == AF_INET && (interface->ifa_flags & IFF_UP) != 0;
    if (useful && !(interface->ifa_flags & IFF_LOOPBACK))
      return address_text(resolve_endpoint(*reinterpret_cast<sockaddr_in*>(interface->ifa_addr)));
  }
  return "127.0.0.1";
}

}  // namespace roll
