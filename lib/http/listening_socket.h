// Listening sockets, for HttpServer.
#pragma once

#include <string>

namespace roll {

/// Returns a listening socket; `port` 0 takes a free one. Returns -1 with errno if no address of `host` can be listened
/// on.
int listen_on(const std::string& host, int port);

struct ListeningAddress {
  int port = 0;
  bool is_v6 = false;
};

/// Returns the address of a socket from listen_on().
ListeningAddress bound_address(int fd);

/// Returns how many descriptors this process may have, at most 4096. Raises its limit up to that first.
int raise_descriptor_limit();

}  // namespace roll
