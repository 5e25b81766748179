// The socket on which a server waits for clients.
#pragma once

#include <string>

namespace roll {

/// A listening socket; `port` 0 takes a free one. -1 with errno if no address of `host` can be listened on.
int listen_on(const std::string& host, int port);

struct ListeningAddress {
  int port = 0;
  bool is_v6 = false;
};

/// Where a socket that listen_on() gave listens.
ListeningAddress address_of(int fd);

/// Descriptors that this process may have. Raises the limit first, as far as a thousand connections need it.
int places_for_descriptors();

}  // namespace roll
