// What ranks will send each other in a step, by the keys of dist/traffic.h: "train_actor/tp/all_gather".
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

  /// Of what it sends, what goes to other hosts: to all alike, or along NCCL's rings, which leave a host once.
  double far_share(Path path) const;
};

struct Sent {
  int64_t bytes = 0;
  double far_bytes = 0;  // of them to other hosts
};

class TrafficForecast {
 public:
  explicit TrafficForecast(size_t num_ranks) : num_ranks_(num_ranks) {}

  void add(size_t rank, const std::string& key, Sent sent, int64_t message);

  /// By key: of each rank. Keys under which nobody sends anything are not there.
  const std::map<std::string, std::vector<Sent>>& sent() const { return sent_; }
  /// The largest message to one rank, and under which key.
  int64_t largest_message() const { return largest_; }
  const std::string& largest_key() const { return largest_key_; }

 private:
  size_t num_ranks_;
  std::map<std::string, std::vector<Sent>> sent_;
  int64_t largest_ = 0;
  std::string largest_key_;
};

/// Takes down what one rank sends in one phase; a group of one sends nothing.
class PhaseTraffic {
 public:
  PhaseTraffic(TrafficForecast& forecast, size_t rank, std::string phase)
      : forecast_(forecast), rank_(rank), phase_(std::move(phase)) {}

  /// As in collective_cost.h; `times` as often.
  void all_reduce(const Group& group, Path path, int64_t count, int64_t element, int64_t times = 1);
  void reduce_scatter(const Group& group, Path path, int64_t all, int64_t times = 1);
  void all_gather(const Group& group, Path path, int64_t mine, int64_t times = 1);
  void all_gather_bytes(const Group& group, int64_t mine);
  /// `bytes` to one other rank, of an all-to-all.
  void send(const Group& group, Path path, int64_t bytes);
  void broadcast(const Group& group, Path path, int64_t bytes, int64_t root);

 private:
  void add(const Group& group, Path path, const char* operation, const Cost& cost);

  TrafficForecast& forecast_;
  size_t rank_;
  std::string phase_;
};

}  // namespace roll
