// What the communicators of a process share: where the run stands, for error texts, and how much each kind of
// collective has sent, for the metrics. May be used from several threads.
//
// Bytes are payload, by formula, whatever way a transport takes; of n ranks each sends, with B bytes of its own:
//   all-gather          (n-1) B              reduce-scatter   (n-1)/n of all that is given to it
//   all-reduce          2 (n-1)/n B          broadcast        (n-1) B, the root; nothing, the others
//   all-reduce up to    (n-1) B; above eight ranks by way of the first of them, which sends (n-1) B, the others B
//     16 KiB on hosts   all-to-all           what it has for others
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace roll {

struct TrafficCount {
  int64_t calls = 0;
  int64_t bytes = 0;  // sent by this process: payload, without what says which collective it is
};

class Traffic {
 public:
  void set_step(int64_t step);
  /// -1 before the first step.
  int64_t step() const;
  /// "train_actor": what the collectives from now on belong to.
  void set_phase(std::string_view phase);

  /// One collective of a group ("tp"), and bytes that it sent.
  void add_call(std::string_view group, std::string_view operation);
  void add_bytes(std::string_view group, std::string_view operation, int64_t bytes);

  /// "train_actor/tp/all_gather": the key of what is counted now.
  std::string key(std::string_view group, std::string_view operation) const;
  /// Key -> counts since the last call.
  std::map<std::string, TrafficCount> take();

 private:
  std::string key_of(std::string_view group, std::string_view operation) const;

  mutable std::mutex mutex_;
  int64_t step_ = -1;
  std::string phase_ = "start";
  std::map<std::string, TrafficCount> counts_;
};

}  // namespace roll
