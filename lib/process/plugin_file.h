// Checks and opens users' shared libraries with plug-in functions: losses (loss/plugin.h), rewards
// (reward/plugin_rule.h) and environments.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace roll {

/// A plug-in as the configuration names it. The library must export a struct with the symbol "<prefix><name>", which a
/// macro of our header defines. The struct's first member is a uint32_t: the header's version when it was compiled.
struct PluginExport {
  std::string library, name;                // values of the configuration keys `library` (a path) and `name`
  std::string where;                        // prefix of these keys in messages: "actor_train.loss_func."
  std::string prefix;                       // symbol prefix: "roll_loss_"
  std::string macro;                        // macro that defines the struct: "ROLL_LOSS"
  std::string macro_argument = "function";  // the macro's second argument, for messages
  std::string header;                       // "roll/loss.h"
  uint32_t abi_version = 0;                 // the header's version in this program
};

/// Checks the file without running code in it. Throws UserError if the file is missing, is not a shared library, lacks
/// the symbol, or was built for another version of the header.
void check_plugin_file(const PluginExport& plugin);

/// Loads the library (dlopen) and returns the exported struct; the library stays loaded as long as a copy of the
/// pointer lives. Throws UserError if the file is missing, cannot be loaded, lacks the symbol, or was built for another
/// version of the header.
std::shared_ptr<const void> open_plugin(const PluginExport& plugin);

/// Throws UserError if plug-in and program have different C++ standard library ABIs, given by name: they could not pass
/// std::string and exceptions to each other.
void check_cxx_abi(std::string_view plugin_abi, std::string_view program_abi, const PluginExport& plugin);

}  // namespace roll
