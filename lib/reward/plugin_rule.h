// Type plugin: a function of a shared library decides (roll/reward.h).
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
    v("name", name, "the name it was given in ROLL_REWARD(name, function)");
    v("args", args, "settings that the function may ask for");
  }
};

/// An exception of the function is no verdict (unjudged). UserError: no library or name; when its files are checked or
/// it is prepared, those of process/plugin_file.h, and another C++ library than this program's.
std::unique_ptr<RewardFunction> make_plugin_rule(const PluginRuleArgs& args, const RuleContext& context);

}  // namespace roll
