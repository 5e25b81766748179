// What one rank sends and gets in a step, by the keys of dist/traffic.h: "train_actor/tp/all_gather".
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace roll {

/// Bytes that a rank moves in one direction.
struct Flow {
  int64_t bytes = 0;
  double far_bytes = 0;  // of them between hosts

  Flow& operator+=(const Flow& more) {
    bytes += more.bytes;
    far_bytes += more.far_bytes;
    return *this;
  }
};

/// What a rank's links carry, both directions at once.
struct Moved {
  Flow sent, received;
  int64_t calls = 0;  // collectives
};

struct RankTraffic {
  std::map<std::string, Moved> moved;  // keys under which nothing moves are not there
  int64_t largest_message = 0;         // of what is sent to one rank without a break
  std::string largest_key;

  void add(const std::string& key, const Moved& more, int64_t message) {
    if (more.sent.bytes + more.received.bytes == 0) return;
    Moved& all = moved[key];
    all.sent += more.sent;
    all.received += more.received;
    all.calls += more.calls;
    if (message <= largest_message) return;
    largest_message = message;
    largest_key = key;
  }
};

}  // namespace roll
