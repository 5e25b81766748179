// Checks and opens the user's shared libraries with plug-in functions: losses (loss/plugin.h), rewards
// (reward/plugin_rule.h) and environments. Checks run none of the library's code.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace roll {

/// An object that the library must export: "<prefix><name>", whose first member is a uint32_t with the version of the
/// header that it was compiled with.
struct PluginExport {
  std::string library, name;                // configuration values of the keys `library` and `name`
  std::string where;                        // prefix of these keys in messages: "actor_train.loss_func."
  std::string prefix;                       // symbol prefix: "roll_loss_"
  std::string macro;                        // macro that defines the export: "ROLL_LOSS"
  std::string macro_argument = "function";  // the macro's second argument, for messages
  std::string header;                       // "roll/loss.h"
  uint32_t abi_version = 0;                 // the header's version in this program
};

/// Checks the file without loading the library, which would run its constructors. UserError: the file is missing, is no
/// shared library, lacks the symbol, or was built for another version of the header.
void check_plugin_file(const PluginExport& plugin);

/// Loads the library and returns the exported object, which keeps it loaded. UserError: as for check_plugin_file(), or
/// dlopen() fails (with its reason).
std::shared_ptr<const void> open_plugin(const PluginExport& plugin);

/// Compares the C++ standard library ABIs of plug-in (`plugin_abi`) and program (`program_abi`), on which std::string
/// and exceptions across the boundary depend. UserError: they differ.
void check_cxx_abi(std::string_view plugin_abi, std::string_view program_abi, const PluginExport& plugin);

}  // namespace roll
