// What a reward type's factory takes and gives, declared so that the registry (types.h) costs no heavy header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace roll {

class RewardFunction;
class SharedByWorkers;

/// How long a type waits where nothing is said; a type that waits for others says so by its usual_patience().
struct Patience {
  double timeout_s = 10;
  int64_t max_retries = 0;
};

/// What every type is given beside its own arguments.
struct RuleContext {
  double timeout_s = 10;  // of one response
  std::string where;      // stands before a key in error messages: "rewards.math.", or "--" for flags
  std::shared_ptr<SharedByWorkers> shared;
};

}  // namespace roll
