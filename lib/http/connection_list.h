// Finds and closes slow connections, for HttpServer. For each connection, the list records the action that the server
// waits for, if any: that the client sends a request, or reads an answer. A connection on which the server has waited
// too long is closed; if connections run out, so are those on which it has waited longest. Not thread-safe.
#pragma once

#include <chrono>
#include <map>

namespace roll {

class ConnectionList {
 public:
  using Clock = std::chrono::steady_clock;
  /// The action of a client that the server waits for.
  enum class Owes {
    kRequest,  // sending a whole request
    kRead,     // reading an answer
    kNothing   // none: the server computes an answer
  };

  /// `max_connections`: the server's limit. `patience`: how long a client may take for one action.
  ConnectionList(int max_connections, Clock::duration patience)
      : max_connections_(max_connections), patience_(patience) {}

  /// Adds a connection or changes its `duty`; the client's time for it starts now. `fd`: socket of the connection,
  /// which must stay open until remove().
  void set(int fd, Owes duty) { connections_[fd] = {.since = Clock::now(), .owes = duty}; }
  void remove(int fd) { connections_.erase(fd); }

  /// Returns true if more than nine tenths of max_connections are in use. The server then calls close_slow() at once.
  bool is_crowded() const { return num_too_many() > 0; }
  /// Shuts down connections whose clients are too slow and, while the list is crowded, those that have kept the server
  /// waiting longest. They stay in the list until remove(). Returns the time at which close_slow() must be called
  /// again.
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
