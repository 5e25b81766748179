#include "base/file.h"

#include <sstream>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/out_file.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kTemporaryMark = ".tmp";

void sync_folder(const fs::path& folder) {
  const Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) throw system_error("{}: cannot open to sync{}", folder.string(), errno_text());
  if (::fsync(fd.get()) != 0) throw system_error("{}: fsync failed{}", folder.string(), errno_text());
}

fs::path parent_folder(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void remove_folder(const fs::path& folder) {
  std::error_code ec;
  fs::remove_all(folder, ec);
  if (ec) throw system_error("{}: cannot be removed ({})", folder.string(), ec.message());
}

fs::path temporary_beside(const fs::path& path) {
  return parent_folder(path) / fmt::format(".{}{}{}", path.filename().string(), kTemporaryMark, ::getpid());
}

}  // namespace

std::vector<fs::path> list_folder(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) entries.push_back(it->path());
  return entries;
}

bool is_there(const fs::path& path) {
  std::error_code ec;
  return fs::exists(path, ec);
}

bool is_folder(const fs::path& path) {
  std::error_code ec;
  return fs::is_directory(path, ec);
}

void require_file(const fs::path& file) {
  if (!is_there(file)) throw user_error("{}: no such file", file.string());
  if (is_folder(file)) throw user_error("{}: is a folder where a file is needed", file.string());
  if (std::error_code ec; !fs::is_regular_file(file, ec))
    throw user_error("{}: is a pipe or device where a file is needed; write it to a file first", file.string());
}

std::ifstream open_to_read(const fs::path& file) {
  require_file(file);
  std::ifstream in(file, std::ios::binary);
  if (!in) throw user_error("{}: cannot read{}", file.string(), errno_text());
  return in;
}

std::ofstream open_to_append(const fs::path& file) {
  if (is_there(file)) require_file(file);
  std::ofstream out(file, std::ios::app | std::ios::binary);
  if (!out) throw system_error("{}: cannot write{}", file.string(), errno_text());
  return out;
}

std::string read_file(const fs::path& file, size_t max_bytes) {
  std::ifstream in = open_to_read(file);
  std::error_code ec;
  if (const auto bytes = fs::file_size(file, ec); !ec && bytes > max_bytes)
    throw user_error("{}: has {} MB; at most {} MB are read; is it the right file?", file.string(), bytes >> 20,
                     max_bytes >> 20);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  if (!in) throw user_error("{}: cannot read{}", file.string(), errno_text());
  return std::move(bytes).str();
}

FileSum write_file_atomic(const fs::path& file, std::string_view content) {
  return write_file_atomic(file, [&](const AppendBytes& append) { append(content); });
}

FileSum write_file_atomic(const fs::path& file, const std::function<void(const AppendBytes&)>& write) {
  if (is_there(file)) require_file(file);  // /dev/null must not become a file
  const fs::path temporary = temporary_beside(file);
  try {
    OutFile out(temporary);
    write([&](std::string_view bytes) { out.append(bytes); });
    const FileSum sum = out.finish();
    rename_lasting(temporary, file);
    return sum;
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
}

void write_folder_atomic(const fs::path& folder, const std::function<void(const fs::path&)>& fill) {
  make_folder(parent_folder(folder));
  const fs::path temporary = temporary_beside(folder);
  remove_folder(temporary);
  make_folder(temporary);
  try {
    fill(temporary);
    remove_folder(folder);
    rename_lasting(temporary, folder);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
}

void sweep_temporaries(const fs::path& folder) noexcept {
  const auto is_temporary = [](const std::string& name) {
    const size_t mark = name.rfind(kTemporaryMark);
    return name.starts_with('.') && mark != std::string::npos &&
           name.find_first_not_of("0123456789", mark + kTemporaryMark.size()) == std::string::npos;
  };
  for (const fs::path& entry : list_folder(folder)) {
    std::error_code ignored;
    if (is_temporary(entry.filename().string())) fs::remove_all(entry, ignored);
  }
}

void rename_lasting(const fs::path& from, const fs::path& to) {
  std::error_code ec;
  fs::rename(from, to, ec);
  if (ec) throw system_error("{}: cannot be renamed to {} ({})", from.string(), to.string(), ec.message());
  sync_folder(parent_folder(to));
}

void refuse_other_than_link(const fs::path& link) {
  std::error_code ec;
  if (const auto status = fs::symlink_status(link, ec); fs::exists(status) && !fs::is_symlink(status))
    throw user_error(
        "{}: must be a symbolic link or absent, but is something else (did a tool that follows links copy the "
        "folder?); remove it",
        link.string());
}

void link_atomic(const fs::path& target, const fs::path& link) {
  refuse_other_than_link(link);
  const fs::path temporary = temporary_beside(link);
  std::error_code ec;
  fs::remove(temporary, ec);
  fs::create_symlink(target, temporary, ec);
  if (ec) throw system_error("{}: cannot create the link ({})", temporary.string(), ec.message());
  rename_lasting(temporary, link);
}

void make_folder(const fs::path& folder) {
  std::error_code ec;
  fs::create_directories(folder, ec);
  if (ec) throw system_error("{}: cannot create the folder ({})", folder.string(), ec.message());
}

}  // namespace roll
