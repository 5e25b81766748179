// Opens listening TCP sockets and raises the descriptor limit, for HttpServer.
#pragma once

#include <string>

namespace roll {

/// Returns the descriptor of a new non-blocking listening socket, which the caller must close. `host`: name or IP
/// address of this machine. `port`: 0 takes a free port. Returns -1 if no address of `host` can be listened on.
int listen_on(const std::string& host, int port);

struct ListeningAddress {
  int port = 0;
  bool is_v6 = false;  // an IPv6 socket
};

/// Returns the address of a socket from listen_on().
ListeningAddress bound_address(int fd);

/// Raises this process's soft limit of open descriptors to 4096, or to its hard limit if that is lower. Returns the
/// resulting limit, at most 4096.
int raise_descriptor_limit();

}  // namespace roll
