// Reads and writes files. write_file_atomic() and write_folder_atomic() leave a whole file or folder, or none: they
// write a temporary file or folder beside the target, sync it, then rename it. Only regular files are opened: reading a
// pipe may block for ever, and a device may never end.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_sum.h"

namespace roll {

/// Checks that `file` is a regular file. Throws UserError if it is missing, or is a folder, pipe, socket or device.
void require_file(const std::filesystem::path& file);
/// Opens a file for reading in binary mode. Throws UserError if it is missing, not a regular file, or cannot be opened.
std::ifstream open_to_read(const std::filesystem::path& file);
/// Opens a file for appending, and creates it if missing. Throws UserError if it exists and is not a regular file.
/// Throws SystemError if it cannot be opened.
std::ofstream open_to_append(const std::filesystem::path& file);

constexpr size_t kMaxFileBytes = size_t{1} << 30;  // 1 GiB
/// Returns the bytes of a file. Throws UserError if it is missing, unreadable, larger than `max_bytes`, or a folder,
/// pipe or device.
std::string read_file(const std::filesystem::path& file, size_t max_bytes = kMaxFileBytes);

/// Writes `content` to a temporary file beside `file`, fsyncs it, renames it to `file`, replacing an older one, and
/// fsyncs the folder, which must exist. Returns size and checksum of the content. Throws UserError if `file` exists and
/// is not a regular file. Throws SystemError if an operation on the file system fails.
FileSum write_file_atomic(const std::filesystem::path& file, std::string_view content);

using AppendBytes = std::function<void(std::string_view)>;
/// Like write_file_atomic() above, for content that is too large for memory: calls write(append), which calls
/// append(bytes) as often as it likes. If `write` throws, `file` is unchanged.
FileSum write_file_atomic(const std::filesystem::path& file, const std::function<void(const AppendBytes&)>& write);

/// Calls fill(temporary folder), which must write its files by write_file_atomic(). Then removes an older `folder` and
/// renames the temporary one to `folder`. Creates missing parents. If `fill` throws, an older `folder` stays as it was.
/// Throws SystemError if an operation on the file system fails.
void write_folder_atomic(const std::filesystem::path& folder,
                         const std::function<void(const std::filesystem::path&)>& fill);

/// Removes the temporary files and folders directly in `folder` that a killed process left there, in one of the
/// functions above. No other process may be writing there. Ignores failures.
void sweep_temporaries(const std::filesystem::path& folder) noexcept;

/// Calls rename(2) and fsyncs the folder of `to`, so that it survives a crash. Throws SystemError if renaming or
/// syncing fails.
void rename_lasting(const std::filesystem::path& from, const std::filesystem::path& to);

/// Checks that `link` may be replaced by a symbolic link. Throws UserError if it exists and is not a symbolic link.
void refuse_other_than_link(const std::filesystem::path& link);

/// Makes the symbolic link `link`, which points to `target`, replacing an older link. Throws SystemError if linking
/// fails. Throws UserError if `link` exists and is not a symbolic link.
void link_atomic(const std::filesystem::path& target, const std::filesystem::path& link);

/// Returns the entries of `folder`, in no order; empty if it cannot be read.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder);

/// Returns true if the path, with links followed, leads to an existing entry of any kind. Never throws; returns false
/// if this cannot be determined.
bool is_there(const std::filesystem::path& path);
/// Like is_there(), but the entry must be a folder.
bool is_folder(const std::filesystem::path& path);

/// Creates the folder and its parents, as far as they are missing. Throws SystemError if that fails.
void make_folder(const std::filesystem::path& folder);

}  // namespace roll
