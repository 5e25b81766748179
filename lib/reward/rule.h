// What a reward type's factory takes and gives, declared so that the registry (types.h) costs no heavy header.
#pragma once

#include <memory>
#include <string>

namespace roll {

class RewardFunction;

/// What every type is given beside its own arguments.
struct RuleContext {
  double timeout_s = 10;  // of one response
  std::string where;      // stands before a key in error messages: "rewards.math.", or "--" for flags
};

}  // namespace roll
