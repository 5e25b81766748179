// Interface of environments, in which a policy acts turn by turn: a level begins, the model says something, the
// environment answers with an observation and a reward, until the level is over.
//
//   make_environment(EnvironmentConfig, tag)  ->  reset(seed)  ->  step(message) ...  ->  close()
//
// Goal: the same seed and messages give the same answers, wherever they are played. An environment that fails throws
// EnvironmentFailed: a failure is never a reward.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/names.h"

namespace roll {

/// Instruction and first observation of a level.
struct Opening {
  std::string instruction;  // shown once, before the first observation; may be empty
  std::string observation;
};

/// Counts of tool calls.
struct ToolCounts {
  int64_t calls = 0, errors = 0;  // all calls; those answered by an error
  template <class F>
  void fields(F& field) {
    field("calls", calls), field("errors", errors);
  }
};

/// The answer to a message.
struct Reaction {
  std::string observation{};
  double reward = 0;
  bool is_done = false;
  bool is_valid = true;                // the message held an action
  std::optional<bool> succeeded{};     // unset: the environment reports only rewards
  std::optional<ToolCounts> tools{};   // unset without tools
  std::vector<std::string> answers{};  // tool answers, one per call; none: the observation is the user's message
  std::string action{};                // action in the message; empty: the whole message
};

/// Largest absolute reward of a turn; the limit is that of responses.
constexpr double kLargestTurnReward = 1e6;

/// Why an environment has no answer.
enum class EnvironmentFault {
  kTimeout,   // no answer in time
  kCrash,     // it exited or threw
  kGarbage,   // unreadable answer
  kFlood,     // answer too long
  kProtocol,  // readable answer that breaks the protocol
};
constexpr auto enum_names(EnvironmentFault) {
  return std::to_array<Named<EnvironmentFault>>({{EnvironmentFault::kTimeout, "timeout"},
                                                 {EnvironmentFault::kCrash, "crash"},
                                                 {EnvironmentFault::kGarbage, "garbage"},
                                                 {EnvironmentFault::kFlood, "flood"},
                                                 {EnvironmentFault::kProtocol, "protocol"}});
}

struct EnvironmentFailed : std::runtime_error {
  EnvironmentFailed(EnvironmentFault fault_, const std::string& what) : std::runtime_error(what), fault(fault_) {}
  EnvironmentFault fault;
};

/// One level at a time. Not thread-safe: one object per thread.
class Environment {
 public:
  virtual ~Environment() = default;
  /// Loads data that copies from another() share; otherwise the first reset() does. UserError: the data cannot be
  /// loaded.
  virtual void prepare() {}
  /// Begins the level of this seed, whatever the state of the last one. EnvironmentFailed: it cannot begin.
  virtual Opening reset(uint64_t seed) = 0;
  /// Answers a message. Call it after reset(), while no Reaction had is_done. EnvironmentFailed: no answer; only
  /// reset() may follow.
  virtual Reaction step(const std::string& message) = 0;
  /// Returns the tools that may be called, as a list for chat templates; null: the prompt shows none.
  virtual Json tools() const { return nullptr; }
  /// Returns another environment of this kind, which shares large data; null: create it like the first.
  virtual std::unique_ptr<Environment> another() const { return nullptr; }
  /// Called when the level is not continued. EnvironmentFailed: see step().
  virtual void close() {}
};

}  // namespace roll
