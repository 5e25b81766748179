// Shared libraries with functions of the user's: what can be known of one without running any of its code, and opening
// it. What the functions are is their owners' affair (loss/plugin.h, reward/plugin_rule.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace roll {

/// An export that a library should have: an object "<prefix><name>" whose first member is a uint32_t, the version of
/// the header that it was made with.
struct PluginExport {
  std::string library, name;  // as configured
  std::string where;          // stands before the keys `library` and `name` in messages: "actor_train.loss_func."
  std::string prefix;         // "roll_loss_"
  std::string macro;          // "ROLL_LOSS", which makes it
  std::string made_of = "function";  // of what
  std::string header;                // "roll/loss.h"
  uint32_t abi_version = 0;          // of that header here
};

/// Without loading the library, which would run its constructors. UserError: no such file, one that is no library, no
/// such symbol, another version of the header.
void check_plugin_file(const PluginExport& wanted);

/// The object; it holds the library open. UserError: the same, and a library that cannot be loaded (the loader's
/// reason).
std::shared_ptr<const void> open_plugin(const PluginExport& wanted);

/// What std::string and exceptions that cross the boundary are made of. UserError: not of the same there and `here`.
void check_cxx_abi(std::string_view there, std::string_view here, const PluginExport& wanted);

}  // namespace roll
