// Finds and closes slow connections, for HttpServer. For each connection, the list records the action of the client
// that the server waits for, if any: sending a request, or reading an answer. A connection is closed if the client
// takes too long for its action. If connections run out, those with the longest waits are closed, too. Not thread-safe.
#pragma once

#include <chrono>
#include <map>

namespace roll {

class ConnectionList {
 public:
  using Clock = std::chrono::steady_clock;
  /// Action of a client that the server waits for.
  enum class Owes {
    kRequest,  // sending a whole request
    kRead,     // reading an answer
    kNothing   // none: the server computes an answer
  };

  /// `max_connections`: the server's limit. `patience`: how long a client may take for one action.
  ConnectionList(int max_connections, Clock::duration patience)
      : max_connections_(max_connections), patience_(patience) {}

  /// Adds a connection, or changes the action that its client owes to `duty`; the client's time for it starts now.
  /// `fd`: socket of the connection, which must stay open until remove().
  void set(int fd, Owes duty) { connections_[fd] = {.since = Clock::now(), .owes = duty}; }
  void remove(int fd) { connections_.erase(fd); }

  /// Returns true if more than nine tenths of max_connections are in use. The server must then call close_slow() at
  /// once.
  bool is_crowded() const { return num_too_many() > 0; }
  /// Shuts down connections whose clients are too slow. If the list is crowded, also shuts down those with the longest
  /// waits, as many as are above nine tenths. They stay in the list until remove(). Returns the time at which
  /// close_slow() must be called again.
  Clock::time_point close_slow();
  /// Shuts down all connections.
  void close_all();

 private:
  struct Connection {
    Clock::time_point since;
    Owes owes = Owes::kRequest;
  };
  int64_t num_too_many() const { return static_cast<int64_t>(connections_.size()) - max_connections_ * 9 / 10; }

  const int64_t max_connections_;
  const Clock::duration patience_;
  std::map<int, Connection> connections_;  // by descriptor
};

/// Returns true if the client has closed its side of the connection with socket `fd`.
bool has_hung_up(int fd);

}  // namespace roll
