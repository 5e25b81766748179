// What a shared library exports, read from its file: loading it would run its constructors.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace roll {

/// The first `size` bytes of the object `symbol` as they stand in the file (pointers are not filled in); nothing when
/// the library does not export it. UserError, a reason without the file's name: no shared library for this machine.
std::optional<std::string> exported_object(const std::filesystem::path& library, const std::string& symbol,
                                           size_t size);

}  // namespace roll
