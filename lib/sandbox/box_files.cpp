#include "sandbox/box_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"

namespace roll {

BoxFiles::BoxFiles() {
  for (const std::string folder : {"/dev", "/etc", "/tmp"}) add_folder(folder);
  steps_.push_back({BoxStep::Kind::kClosedFolder, "", "/proc"});
  made_.insert("/proc");
  for (const std::string top : {"/bin", "/lib", "/lib32", "/lib64"})
    if (std::filesystem::is_symlink(top)) {
      steps_.push_back({BoxStep::Kind::kLink, std::filesystem::read_symlink(top), top});
      shown_.insert(top);
    }
  for (const std::string path :
       {"/bin", "/lib", "/lib32", "/lib64", "/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec",
        "/usr/include", "/usr/share/zoneinfo", "/etc/alternatives", "/etc/ld.so.cache"})
    if (is_there(path)) show(path);
  for (const std::string device : {"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"})
    steps_.push_back({BoxStep::Kind::kBindDevice, "/old" + device, device});
}

/// Returns whether the path or a folder above it is shown.
bool BoxFiles::is_shown(const std::filesystem::path& path) const {
  for (std::filesystem::path above = path; above != above.root_path(); above = above.parent_path())
    if (shown_.contains(above)) return true;
  return false;
}

void BoxFiles::add_folder(const std::filesystem::path& folder) {
  if (folder == folder.root_path() || is_shown(folder) || !made_.insert(folder).second) return;
  add_folder(folder.parent_path());
  steps_.push_back({BoxStep::Kind::kFolder, "", folder});
}

void BoxFiles::show(const std::filesystem::path& path) {
  if (is_shown(path)) return;
  if (is_folder(path)) {
    add_folder(path);
  } else {
    add_folder(path.parent_path());
    steps_.push_back({BoxStep::Kind::kFile, "", path});
  }
  shown_.insert(path);
  // Canonical, because symbolic links on the way would lead out of the old root.
  steps_.push_back({BoxStep::Kind::kBind, "/old" + std::filesystem::canonical(path).string(), path});
}

void BoxFiles::mount_memory(const std::filesystem::path& folder, int64_t size_mb, unsigned user) {
  add_folder(folder);
  const std::string options = fmt::format("size={}m,nr_inodes=8192,mode=0700,uid={},gid={}", size_mb, user, user);
  steps_.push_back({BoxStep::Kind::kMemory, options, folder});
}

void BoxFiles::mount_proc() {
  steps_.push_back({BoxStep::Kind::kProc, "", "/proc"});
}

void BoxFiles::add_mount_points() {
  for (const std::string folder : {"/dev/shm", "/dev/fd", "/proc/self", "/mnt"}) add_folder(folder);
  for (const auto& [link, to] : {std::pair{"/proc/self/fd", "/dev/fd"},
                                 {"/dev/stdin", "fd/0"},
                                 {"/dev/stdout", "fd/1"},
                                 {"/dev/stderr", "fd/2"}})
    steps_.push_back({BoxStep::Kind::kLink, to, link});
}

}  // namespace roll
