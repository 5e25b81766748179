#include "http/listening_socket.h"

#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace roll {

namespace {

constexpr int kBacklog = 1024;

}  // namespace

int listen_on(const std::string& host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return -1;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, &freeaddrinfo);
  for (const addrinfo* candidate = found; candidate; candidate = candidate->ai_next) {
    const int fd =
        ::socket(candidate->ai_family, candidate->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, candidate->ai_protocol);
    if (fd < 0) continue;
    const int yes = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (::bind(fd, candidate->ai_addr, candidate->ai_addrlen) == 0 && ::listen(fd, kBacklog) == 0) return fd;
    ::close(fd);
  }
  return -1;
}

ListeningAddress bound_address(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  const bool is_v6 = address.ss_family == AF_INET6;
  return {.port = ntohs(is_v6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                              : reinterpret_cast<sockaddr_in&>(address).sin_port),
          .is_v6 = is_v6};
}

int raise_descriptor_limit() {
  constexpr rlim_t kWanted = 4096;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < kWanted) {
    limit.rlim_cur = std::min(limit.rlim_max, kWanted);
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  return static_cast<int>(std::min(limit.rlim_cur, kWanted));
}

}  // namespace roll
