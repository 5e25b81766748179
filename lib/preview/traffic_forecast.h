// What ranks will send each other and get in a step, by the keys of dist/traffic.h: "train_actor/tp/all_gather".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "preview/collective_cost.h"

namespace roll {

constexpr int64_t kNumberBytes = 8;  // a count, a loss, a time

/// A group of ranks as one of them sees it.
struct Group {
  std::string name;  // as in dist/traffic.h
  Member own{};
  int64_t num_near = 0;  // other members on its host

  /// Of what a collective moves, what passes between hosts: to all alike, or along NCCL's rings, which leave a host
  /// once.
  double far_share(Path path) const;
};

/// In one direction.
struct Flow {
  int64_t bytes = 0;
  double far_bytes = 0;  // of them between hosts

  Flow& operator+=(const Flow& more) {
    bytes += more.bytes, far_bytes += more.far_bytes;
    return *this;
  }
};

/// One message to, or from, another rank, whose host is known.
inline Flow message_flow(int64_t bytes, bool is_far) {
  return {bytes, is_far ? static_cast<double>(bytes) : 0};
}

/// What a rank's links carry, both directions at once.
struct Moved {
  Flow sent, received;
};

class TrafficForecast {
 public:
  explicit TrafficForecast(size_t num_ranks) : num_ranks_(num_ranks) {}

  /// `message`: the largest of what is sent.
  void add_sent(size_t rank, const std::string& key, Flow sent, int64_t message);
  void add_received(size_t rank, const std::string& key, Flow received);

  /// By key: of each rank. Keys under which nothing moves are not there.
  const std::map<std::string, std::vector<Moved>>& moved() const { return moved_; }
  /// The largest message to one rank, and under which key.
  int64_t largest_message() const { return largest_; }
  const std::string& largest_key() const { return largest_key_; }

 private:
  Moved& at(size_t rank, const std::string& key);

  size_t num_ranks_;
  std::map<std::string, std::vector<Moved>> moved_;
  int64_t largest_ = 0;
  std::string largest_key_;
};

/// Takes down what one rank sends and gets in one phase; in a group of one nothing moves.
class PhaseTraffic {
 public:
  PhaseTraffic(TrafficForecast& forecast, size_t rank, std::string phase)
      : forecast_(forecast), rank_(rank), phase_(std::move(phase)) {}

  /// As in collective_cost.h; `times` as often.
  void all_reduce(const Group& group, Path path, int64_t count, int64_t element, int64_t times = 1);
  void reduce_scatter(const Group& group, Path path, int64_t all, int64_t times = 1);
  void all_gather(const Group& group, Path path, int64_t mine, int64_t times = 1);
  void all_gather_bytes(const Group& group, int64_t mine, int64_t all);
  /// `bytes` to, or from, one other rank, of an all-to-all; `is_far`: on another host.
  void send(const Group& group, int64_t bytes, bool is_far);
  void receive(const Group& group, int64_t bytes, bool is_far);
  void broadcast(const Group& group, Path path, int64_t bytes, int64_t root);

 private:
  std::string key(const Group& group, const char* operation) const;
  void add(const Group& group, Path path, const char* operation, const Cost& cost);

  TrafficForecast& forecast_;
  size_t rank_;
  std::string phase_;
};

}  // namespace roll
