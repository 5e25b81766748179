// Files that are opened by a name: only files, because a pipe that has no other end keeps who opens it for ever, and a
// device may have no end.
#pragma once

#include <filesystem>
#include <fstream>

namespace roll {

/// UserError when `file` is missing, or is a folder, or a pipe, socket or device, where opening or reading may wait for
/// ever.
void require_file(const std::filesystem::path& file);
/// Opened to read. UserError as require_file(), or where it cannot be.
std::ifstream open_to_read(const std::filesystem::path& file);
/// Opened to write at its end; it is made where it is missing. UserError as require_file(). SystemError.
std::ofstream open_to_append(const std::filesystem::path& file);

}  // namespace roll
