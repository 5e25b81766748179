// State that all communicators of a process share: the step, for error texts, and the traffic of each kind of
// collective, for metrics. Thread-safe.
//
// Bytes are payload, by formula, independent of the transport. Each of n ranks holds B bytes and sends:
//   all-gather          (n-1) B              reduce-scatter   (n-1)/n of its input
//   all-reduce          2 (n-1)/n B          broadcast        (n-1) B by the root, 0 by the others
//   all-reduce up to    (n-1) B; above eight ranks through rank 0, which sends (n-1) B, the others B
//     16 KiB on hosts   all-to-all           its data for other ranks
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace roll {

struct TrafficCount {
  int64_t calls = 0;
  int64_t bytes = 0;  // payload sent by this process, without headers
};

class Traffic {
 public:
  void set_step(int64_t step);
  /// Returns the current step; -1 before the first step.
  int64_t step() const;
  /// Sets the phase of the following collectives ("train_actor").
  void set_phase(std::string_view phase);

  /// Adds one collective of a group ("tp"), or bytes that it sent.
  void add_call(std::string_view group, std::string_view operation);
  void add_bytes(std::string_view group, std::string_view operation, int64_t bytes);

  /// Returns the current key: "train_actor/tp/all_gather".
  std::string key(std::string_view group, std::string_view operation) const;
  /// Returns the counts since the last call, by key.
  std::map<std::string, TrafficCount> take();

 private:
  std::string traffic_key(std::string_view group, std::string_view operation) const;

  mutable std::mutex mutex_;
  int64_t step_ = -1;
  std::string phase_ = "start";
  std::map<std::string, TrafficCount> counts_;
};

}  // namespace roll
