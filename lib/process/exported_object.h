// Reads exported objects of a shared library (ELF) from its file, without loading it: loading would run its
// constructors. Used to check plug-ins.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace roll {

/// Returns the first `size` bytes of the object `symbol` as stored in the file (without relocation of pointers);
/// nullopt if the library does not export it. UserError, without the file's name: not a shared library for this
/// machine, or damaged.
std::optional<std::string> exported_object(const std::filesystem::path& library, const std::string& symbol,
                                           size_t size);

}  // namespace roll
