// Files that are whole or absent: everything is written beside its place, synced, then renamed. What a user names is
// only opened where it is a file: a pipe without another end keeps who opens it for ever, and a device may have no end.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_sum.h"

namespace roll {

/// UserError when `file` is missing, or is a folder, pipe, socket or device.
void require_file(const std::filesystem::path& file);
/// Opened to read. UserError as require_file(), or where it cannot be.
std::ifstream open_to_read(const std::filesystem::path& file);
/// Opened to write at its end; it is made where it is missing. UserError as require_file(). SystemError.
std::ofstream open_to_append(const std::filesystem::path& file);

/// The bytes of a file. UserError when it is missing, unreadable, larger than `max_bytes`, or no file but a folder,
/// pipe or device, which may have no end.
constexpr size_t kMaxFileBytes = size_t{1} << 30;
std::string read_file(const std::filesystem::path& file, size_t max_bytes = kMaxFileBytes);

/// Writes `content` to a temporary neighbour, fsyncs it, renames it to `file` and fsyncs the folder. SystemError.
FileSum write_file_atomic(const std::filesystem::path& file, std::string_view content);

/// Writes content that is too large to hold: `write` gets a function that appends bytes.
using AppendBytes = std::function<void(std::string_view)>;
FileSum write_file_atomic(const std::filesystem::path& file, const std::function<void(const AppendBytes&)>& write);

/// Calls `fill(temporary folder)`, which writes by write_file_atomic(), and renames it to `folder`, replacing an older
/// one. If `fill` throws, nothing is left behind. SystemError.
void write_folder_atomic(const std::filesystem::path& folder,
                         const std::function<void(const std::filesystem::path&)>& fill);

/// Removes what processes that died left unfinished right in `folder`: the temporary neighbours of the above. Nobody
/// else may be writing there.
void sweep_temporaries(const std::filesystem::path& folder) noexcept;

/// rename(2) that survives a crash of the machine: the folder that holds `to` is fsynced. SystemError names both.
void rename_lasting(const std::filesystem::path& from, const std::filesystem::path& to);

/// UserError where the name is taken by what is no symbolic link.
void refuse_other_than_link(const std::filesystem::path& link);

/// A symbolic link `link` -> `target`, in place of an older one. SystemError; UserError as above.
void link_atomic(const std::filesystem::path& target, const std::filesystem::path& link);

/// The entries of `folder`, in no order; none where it cannot be read.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder);

/// Whether something, or a folder, is there. False for what cannot be looked at, such as links in a circle.
bool is_there(const std::filesystem::path& path);
bool is_folder(const std::filesystem::path& path);

/// Creates the folder and its parents. SystemError names it when that fails.
void make_folder(const std::filesystem::path& folder);

}  // namespace roll
