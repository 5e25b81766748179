// Reward type plugin: a C++ function in the user's shared library computes the reward. The user builds the library with
// the header roll/reward.h.
#pragma once

#include <map>

#include "config/keys.h"
#include "reward/rule.h"

namespace roll {

/// Keys of the type.
struct PluginRuleArgs {
  std::string library;
  std::string name;
  std::map<std::string, std::string> args;

  void fields(Keys& v) {
    v("library", library, "path of the shared library");
    v("name", name, "the function's name in ROLL_REWARD(name, function)");
    v("args", args, "settings that the function can read");
  }
};

/// Makes the reward. An exception of the function gives a failed reward (kUnjudged). Throws UserError if `library` or
/// `name` is empty. check_files() throws UserError if the library is missing, lacks the function or was built for
/// another version of roll/reward.h; prepare() also if the library cannot be loaded or has another C++ standard
/// library.
std::unique_ptr<RewardFunction> make_plugin_rule(const PluginRuleArgs& args, const RuleContext& context);

}  // namespace roll
