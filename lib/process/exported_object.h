// Reads exported variables of a shared library (ELF) from its file. It does not load the library, because loading would
// run the library's code. plugin_file.h checks plug-ins with it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace roll {

/// Returns the first `size` bytes of the variable `symbol`, as stored in the file `library`; pointers in it are not yet
/// relocated. Returns nullopt if the library does not export the symbol. Throws UserError if the file is not a shared
/// library for this machine, or damaged; the message lacks the file's name, which the caller adds.
std::optional<std::string> exported_object(const std::filesystem::path& library, const std::string& symbol,
                                           size_t size);

}  // namespace roll
