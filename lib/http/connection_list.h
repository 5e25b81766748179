// Connections of HttpServer, and what each client owes the server: to send a request, or to read an answer. A
// connection that owes something for too long is closed. When connections run out, those that have owed something
// longest are closed, too.
#pragma once

#include <chrono>
#include <map>

namespace roll {

class ConnectionList {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Owes { kRequest, kRead, kNothing };  // kRead: its client must read an answer

  /// `patience`: how long a connection may owe something.
  ConnectionList(int max_connections, Clock::duration patience)
      : max_connections_(max_connections), patience_(patience) {}

  /// Records that the connection now owes `duty`. The descriptor `fd` must stay open until remove().
  void set(int fd, Owes duty) { connections_[fd] = {.since = Clock::now(), .owes = duty}; }
  void remove(int fd) { connections_.erase(fd); }

  /// Returns true if nine tenths of the connections are in use: close_slow() is due.
  bool is_crowded() const { return num_too_many() > 0; }
  /// Closes slow connections. Returns when the next one will be slow.
  Clock::time_point close_slow();
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

/// Returns true if the client has closed its side of the connection.
bool has_hung_up(int fd);

}  // namespace roll
