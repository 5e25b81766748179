// Ranks as threads of the test, joined over real sockets on the loopback.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "transport/host_communicator.h"
#include "transport/socket.h"
#include "transport/wire.h"

namespace roll::test {

constexpr double kStart_s = 60;  // to find each other on a busy machine

/// A port of the loopback that is this process's own until it ends. A socket holds it, so that neither bind() nor an
/// outgoing connection of any process is given it; nobody listens there, and listen_at() can.
inline int free_port() {
  const Socket holder(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  const int on = 1;  // set after bind(): the port is chosen for us alone, and listen_at() may still share it
  if (::bind(holder.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::setsockopt(holder.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::fcntl(holder.fd(), F_DUPFD_CLOEXEC, 0) < 0)  // the copy stays open
    throw system_error("a free port: {}", std::strerror(errno));
  return static_cast<int>(holder.own_endpoint().port);
}

/// Runs `body` on `num_ranks` threads. Catch2's assertions are for one thread only: bodies give back text, and
/// what a body threw is "error: ...".
inline std::vector<std::string> run_local_ranks(int num_ranks, const std::function<std::string(Communicator&)>& body,
                                                double timeout_s = 20) {
  const int port = free_port();
  std::vector<std::string> said(static_cast<size_t>(num_ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < num_ranks; ++rank)
    threads.emplace_back([&, rank] {
      std::string& local = said[static_cast<size_t>(rank)];
      try {
        const auto ranks =
            make_host_communicator(make_tcp_wire(rank, num_ranks, {"127.0.0.1", port}, kStart_s), timeout_s);
        local = body(*ranks);
      } catch (const std::exception& error) {
        local = std::string("error: ") + error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return said;
}

}  // namespace roll::test
