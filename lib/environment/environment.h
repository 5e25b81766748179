// What a policy acts in, turn by turn: a level begins, the model says something, the environment answers with what is
// to be seen then and a reward, until it is over.
//
//   make_environment(EnvironmentConfig, tag)  ->  reset(seed)  ->  step(message) ...  ->  close()
//
// Goal: the same seed and messages give the same answers, wherever and beside whatever they are played. An environment
// that fails says so by EnvironmentFailed: that is never a reward.
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

/// What is to be seen when a level begins.
struct Opening {
  std::string instruction;  // said once, before the first observation; may be empty
  std::string observation;
};

/// Of tools that a model calls.
struct ToolCounts {
  int64_t calls = 0, errors = 0;  // all of them; those that were answered by an error
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
  std::optional<bool> succeeded{};     // none: the rewards say it
  std::optional<ToolCounts> tools{};   // where there are some
  std::vector<std::string> answers{};  // of tools, one for each call; none: the observation is the user's
  std::string action{};                // what the message was taken for; empty: all of it
};

/// Rewards are numbers within this, as those of responses.
constexpr double kLargestTurnReward = 1e6;

/// Why an environment has no answer.
enum class EnvironmentFault {
  kTimeout,   // none within its time
  kCrash,     // it ended
  kGarbage,   // what it said could not be read
  kFlood,     // it said more than fits
  kProtocol,  // it was read, and breaks the rules
};
constexpr auto names_of(EnvironmentFault) {
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
  /// Loads what it plays with, for all that another() makes of it; a first reset() does it, too. UserError.
  virtual void prepare() {}
  /// Begins the level of this seed, whatever became of the one before. EnvironmentFailed.
  virtual Opening reset(uint64_t seed) = 0;
  /// After a reset() and no Reaction with is_done. EnvironmentFailed: only a reset() may follow.
  virtual Reaction step(const std::string& message) = 0;
  /// Of the tools that may be called, a list as chat templates take it; null: nothing is said of them.
  virtual Json tools() const { return nullptr; }
  /// One more of this kind, which shares what is large; null: it is made as the first was.
  virtual std::unique_ptr<Environment> another() const { return nullptr; }
  /// The level will not go on. EnvironmentFailed as step().
  virtual void close() {}
};

}  // namespace roll
