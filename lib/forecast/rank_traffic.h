// Bytes that one rank sends and receives in a step, by the keys of dist/traffic.h, such as "train_actor/tp/all_gather".
// Counted by planned_ranks.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace roll {

/// Bytes moved in one direction.
struct Flow {
  int64_t bytes = 0;     // all bytes
  double far_bytes = 0;  // part of `bytes` that crosses hosts; an average over ranks, so not always whole

  Flow& operator+=(const Flow& other) {
    bytes += other.bytes;
    far_bytes += other.far_bytes;
    return *this;
  }
};

/// Bytes that a rank sends and receives in one kind of collective.
struct Moved {
  Flow sent, received;
  int64_t calls = 0;  // number of collectives
};

/// All communication of a rank.
struct RankTraffic {
  std::map<std::string, Moved> moved;  // by key; keys without traffic are left out
  int64_t largest_message = 0;         // bytes of the largest message to one other rank
  std::string largest_key;             // key of that message

  /// Adds collectives of one kind; ignores collectives that move no bytes. `message`: bytes of their largest message.
  void add(const std::string& key, const Moved& added, int64_t message) {
    if (added.sent.bytes + added.received.bytes == 0) return;
    Moved& total = moved[key];
    total.sent += added.sent;
    total.received += added.received;
    total.calls += added.calls;
    if (message <= largest_message) return;
    largest_message = message;
    largest_key = key;
  }
};

}  // namespace roll
