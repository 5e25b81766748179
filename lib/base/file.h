// Reads and writes files. Written files are whole or absent: a temporary neighbour is written, synced, then renamed.
// Paths from users are opened only if they are regular files: a pipe may block for ever, a device may never end.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_sum.h"

namespace roll {

/// Checks that `file` is a regular file. UserError: it is missing, or is a folder, pipe, socket or device.
void require_file(const std::filesystem::path& file);
/// Opens a file for reading. UserError: as for require_file(), or the file cannot be opened.
std::ifstream open_to_read(const std::filesystem::path& file);
/// Opens a file for appending, and creates it if missing. UserError as require_file(). SystemError: it cannot be
/// opened.
std::ofstream open_to_append(const std::filesystem::path& file);

/// Returns the bytes of a file. UserError: it is missing, unreadable, larger than `max_bytes`, or a folder, pipe or
/// device.
constexpr size_t kMaxFileBytes = size_t{1} << 30;
std::string read_file(const std::filesystem::path& file, size_t max_bytes = kMaxFileBytes);

/// Writes `content` to a temporary neighbour, fsyncs it, renames it to `file` and fsyncs the folder. SystemError: the
/// disk refuses.
FileSum write_file_atomic(const std::filesystem::path& file, std::string_view content);

/// Writes content that is too large for memory: `write` gets a function that appends bytes.
using AppendBytes = std::function<void(std::string_view)>;
FileSum write_file_atomic(const std::filesystem::path& file, const std::function<void(const AppendBytes&)>& write);

/// Calls `fill(temporary folder)`, which writes with write_file_atomic(), then renames it to `folder`, replacing an
/// older one. If `fill` throws, nothing remains. SystemError: the disk refuses.
void write_folder_atomic(const std::filesystem::path& folder,
                         const std::function<void(const std::filesystem::path&)>& fill);

/// Removes temporary neighbours of the functions above that dead processes left directly in `folder`. Nobody else may
/// be writing there.
void sweep_temporaries(const std::filesystem::path& folder) noexcept;

/// Calls rename(2) and fsyncs the folder of `to`, so that it survives a crash. SystemError: renaming or syncing fails.
void rename_lasting(const std::filesystem::path& from, const std::filesystem::path& to);

/// UserError: `link` exists and is not a symbolic link.
void refuse_other_than_link(const std::filesystem::path& link);

/// Makes the symbolic link `link` -> `target`, replacing an older one. SystemError: linking fails. UserError as above.
void link_atomic(const std::filesystem::path& target, const std::filesystem::path& link);

/// Returns the entries of `folder`, in no order; empty if it cannot be read.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

/// Tests whether something, or a folder, is there. False if it cannot be examined, such as for links in a circle.
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

/// Creates the folder and its parents. SystemError: that fails.
void make_folder(const std::filesystem::path& folder);

}  // namespace roll
