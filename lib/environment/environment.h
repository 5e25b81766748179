// Interface of environments, in which a policy acts turn by turn. Used by lib/collect, which plays them. A level is one
// game or task, chosen by a seed. It begins with an observation. Then the model writes a message, and the environment
// answers with an observation and a reward, until the level is over.
//
//   make_environment(EnvironmentConfig, tag)  ->  reset(seed)  ->  step(message) ...  ->  close()
//
// Goal: the same seed and messages give the same answers, on any rank and thread. An environment that fails throws
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

/// Numbers of tool calls.
struct ToolCounts {
  int64_t calls = 0;   // all calls
  int64_t errors = 0;  // calls that were answered by an error
  template <class F>
  void fields(F& field) {
    field("calls", calls), field("errors", errors);
  }
};

/// The environment's answer to a message of the model.
struct Reaction {
  std::string observation{};           // shown to the model, unless there are `answers`
  double reward = 0;                   // for this turn
  bool is_done = false;                // the level is over
  bool is_valid = true;                // the message held an action
  std::optional<bool> succeeded{};     // true: the level is solved; unset: the environment reports only rewards
  std::optional<ToolCounts> tools{};   // tool calls in the message; unset without tools
  std::vector<std::string> answers{};  // one per tool call; the model gets them as tool messages
  std::string action{};                // the action in the message; empty: the whole message is the action
};

/// Largest absolute reward of a turn. Equals kLargestReward, the limit of a response (reward/types.h).
constexpr double kLargestTurnReward = 1e6;

/// Reasons why an environment has no answer.
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

/// Thrown by an environment that has no answer. It ends the trajectory, which then has no reward.
struct EnvironmentFailed : std::runtime_error {
  /// `what`: text that follows "the environment" in messages, e.g. "gave no answer within 10 s".
  EnvironmentFailed(EnvironmentFault fault_, const std::string& what) : std::runtime_error(what), fault(fault_) {}
  EnvironmentFault fault;
};

/// Plays one level at a time, and may be used for many. Not thread-safe: one object per thread.
class Environment {
 public:
  virtual ~Environment() = default;
  /// Loads large data before another() is called; else the first reset() loads it. Throws UserError if it cannot be
  /// loaded.
  virtual void prepare() {}
  /// Begins the level of this seed, even if the last one is not over. Throws EnvironmentFailed if it cannot begin.
  virtual Opening reset(uint64_t seed) = 0;
  /// Answers the model's message. Call it after reset(), until a Reaction has is_done. Throws EnvironmentFailed if
  /// there is no answer; then only reset() may follow.
  virtual Reaction step(const std::string& message) = 0;
  /// Returns the schemas of the tools that the prompt shows, as a list for chat templates; null: none. Valid after
  /// reset().
  virtual Json tools() const { return nullptr; }
  /// Returns a new environment with the same settings, which shares large data with this one. Returns null if the type
  /// does not support this; the caller then uses make_environment().
  virtual std::unique_ptr<Environment> another() const { return nullptr; }
  /// Ends a level that is not continued, whether it is over or not. Throws EnvironmentFailed as step() does.
  virtual void close() {}
};

}  // namespace roll
