#include "process/plugin_file.h"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "process/exported_object.h"

namespace roll {

namespace {

void check_library_exists(const PluginExport& plugin) {
  std::error_code absent;
  if (!std::filesystem::is_regular_file(plugin.library, absent))
    throw user_error("{}library = {}: no such file; build the plug-in, or correct the path", plugin.where,
                     plugin.library);
}

std::string symbol_name(const PluginExport& plugin) {
  return plugin.prefix + plugin.name;
}

UserError missing_symbol_error(const PluginExport& plugin) {
  return user_error("{}name = {}: {} has no symbol {}; write {}({}, {}) there, or correct the name", plugin.where,
                    plugin.name, plugin.library, symbol_name(plugin), plugin.macro, plugin.name, plugin.macro_argument);
}

void check_version(const void* object, const PluginExport& plugin) {
  uint32_t version = 0;
  std::memcpy(&version, object, sizeof version);
  if (version != plugin.abi_version)
    throw user_error("{}library = {}: built for version {} of {}, but this program has version {}; rebuild it",
                     plugin.where, plugin.library, version, plugin.header, plugin.abi_version);
}

}  // namespace

void check_plugin_file(const PluginExport& plugin) {
  check_library_exists(plugin);
  std::optional<std::string> found;
  try {
    found = exported_object(plugin.library, symbol_name(plugin), sizeof(uint32_t));
  } catch (const UserError& error) {
    throw user_error("{}library = {}: cannot be loaded: {}; build the plug-in, or correct the path", plugin.where,
                     plugin.library, error.what());
  }
  if (!found) throw missing_symbol_error(plugin);
  check_version(found->data(), plugin);
}

std::shared_ptr<const void> open_plugin(const PluginExport& plugin) {
  check_library_exists(plugin);
  // Absolute, because dlopen searches the system's folders for a bare file name.
  void* const handle = dlopen(std::filesystem::absolute(plugin.library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw user_error("{}library = {}: cannot be loaded: {}", plugin.where, plugin.library, dlerror());
  const std::shared_ptr<void> library(handle, dlclose);
  const void* const object = dlsym(handle, symbol_name(plugin).c_str());
  if (!object) throw missing_symbol_error(plugin);
  check_version(object, plugin);
  return {library, object};
}

void check_cxx_abi(std::string_view plugin_abi, std::string_view program_abi, const PluginExport& plugin) {
  if (plugin_abi != program_abi)
    throw user_error("{}library = {}: built with {}, but this program with {}; rebuild it like this program",
                     plugin.where, plugin.library, plugin_abi, program_abi);
}

}  // namespace roll
