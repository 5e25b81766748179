// State that all communicators of a process share: the step, for error texts, and the calls and bytes sent by each kind
// of collective, for metrics. Thread-safe.
//
// Bytes are computed by formula, independent of the transport. With n ranks that each pass B bytes, a rank sends:
//   all-gather          (n-1) B
//   reduce-scatter      (n-1)/n B
//   all-reduce          2 (n-1)/n B. Over host memory up to 16 KiB: (n-1) B; with n > 8, (n-1) B by rank 0 and B by
//                       the others
//   broadcast           (n-1) B by the root, 0 by the others
//   all-to-all          its data for other ranks
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace roll {

/// Counts of one kind of collective.
struct TrafficCount {
  int64_t calls = 0;  // number of collectives
  int64_t bytes = 0;  // payload sent by this process, without headers
};

class Traffic {
 public:
  /// Sets the step for error texts.
  void set_step(int64_t step);
  /// Returns the current step; -1 before the first step.
  int64_t step() const;
  /// Sets the phase of a step to which the following collectives belong ("train_actor").
  void set_phase(std::string_view phase);

  /// Counts one collective, such as "all_gather", of the communicator named `group` ("tp").
  void add_call(std::string_view group, std::string_view operation);
  /// Adds bytes sent by that collective.
  void add_bytes(std::string_view group, std::string_view operation, int64_t bytes);

  /// Returns the key under which a collective of the current phase is counted: "train_actor/tp/all_gather".
  std::string key(std::string_view group, std::string_view operation) const;
  /// Returns the counts since the last take(), by key (key()), and begins again at 0.
  std::map<std::string, TrafficCount> take();

 private:
  std::string traffic_key(std::string_view group, std::string_view operation) const;

  mutable std::mutex mutex_;
  int64_t step_ = -1;
  std::string phase_ = "start";
  std::map<std::string, TrafficCount> counts_;
};

}  // namespace roll
