// Ranks as threads of the test, joined over real sockets on the loopback.
#pragma once

#include <unistd.h>

#include <atomic>
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

/// A port nobody listens on, below the range that outgoing connections use: a rank that knocks before the server is
/// there can be given the very port it knocks at, and then talks to itself.
inline int free_port() {
  static std::atomic<int> next = 20000 + ::getpid() % 1000 * 10;
  for (;; ++next) try {
      connect_to({loopback().address, static_cast<uint32_t>(next)});
    } catch (const SystemError&) {
      return next++;
    }
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
