// Type plugin: a function in the user's shared library gives the reward (roll/reward.h).
#pragma once

#include <map>

#include "config/keys.h"
#include "reward/rule.h"

namespace roll {

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

/// Makes the reward. An exception of the function is a failed reward (unjudged). UserError: library or name is missing.
/// check_files() and prepare() throw the errors of process/plugin_file.h; prepare() also if the C++ library differs.
std::unique_ptr<RewardFunction> make_plugin_rule(const PluginRuleArgs& args, const RuleContext& context);

}  // namespace roll
