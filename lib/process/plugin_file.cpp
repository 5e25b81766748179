#include "process/plugin_file.h"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "process/exported_object.h"

namespace roll {

namespace {

void check_there(const PluginExport& wanted) {
  std::error_code absent;
  if (!std::filesystem::is_regular_file(wanted.library, absent))
    throw user_error("{}library = {}: no such file; build the plug-in, or correct the path", wanted.where,
                     wanted.library);
}

std::string symbol_of(const PluginExport& wanted) {
  return wanted.prefix + wanted.name;
}

UserError no_symbol(const PluginExport& wanted) {
  return user_error("{}name = {}: {} has no symbol {}; write {}({}, {}) there, or correct the name", wanted.where,
                    wanted.name, wanted.library, symbol_of(wanted), wanted.macro, wanted.name, wanted.macro_argument);
}

void check_version(const void* object, const PluginExport& wanted) {
  uint32_t version = 0;
  std::memcpy(&version, object, sizeof version);
  if (version != wanted.abi_version)
    throw user_error("{}library = {}: built for version {} of {}, this program has version {}; rebuild it",
                     wanted.where, wanted.library, version, wanted.header, wanted.abi_version);
}

}  // namespace

void check_plugin_file(const PluginExport& wanted) {
  check_there(wanted);
  std::optional<std::string> found;
  try {
    found = exported_object(wanted.library, symbol_of(wanted), sizeof(uint32_t));
  } catch (const UserError& error) {
    throw user_error("{}library = {}: cannot be loaded: {}; build the plug-in, or correct the path", wanted.where,
                     wanted.library, error.what());
  }
  if (!found) throw no_symbol(wanted);
  check_version(found->data(), wanted);
}

std::shared_ptr<const void> open_plugin(const PluginExport& wanted) {
  check_there(wanted);
  // Absolute, because dlopen searches the system's folders for a bare file name.
  void* const handle = dlopen(std::filesystem::absolute(wanted.library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw user_error("{}library = {}: cannot be loaded: {}", wanted.where, wanted.library, dlerror());
  const std::shared_ptr<void> library(handle, dlclose);
  const void* const object = dlsym(handle, symbol_of(wanted).c_str());
  if (!object) throw no_symbol(wanted);
  check_version(object, wanted);
  return {library, object};
}

void check_cxx_abi(std::string_view there, std::string_view here, const PluginExport& wanted) {
  if (there != here)
    throw user_error("{}library = {}: built with {}, this program with {}; rebuild it with that", wanted.where,
                     wanted.library, there, here);
}

}  // namespace roll
