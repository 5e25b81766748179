// Plan of the files that a sandbox sees, all read-only: the system's programs and libraries, four devices, and paths
// added by show(). The plan is made before the process that carries it out.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace roll {

/// One step of building a sandbox's file system; `from` is a path below the old root.
struct BoxStep {
  enum class Kind { kFolder, kClosedFolder, kFile, kLink, kBind, kBindDevice, kMemory, kProc } kind;
  std::string from, to;  // kMemory: `from` holds the mount options
};

class BoxFiles {
 public:
  /// Plans the system's files, an empty /tmp, and an empty /proc that cannot be listed.
  BoxFiles();

  /// Shows a file, or a folder with its content. `path` is absolute and exists.
  void show(const std::filesystem::path& path);
  /// Adds an empty folder, unless a shown folder already contains it.
  void add_folder(const std::filesystem::path& folder);
  /// Mounts a folder in memory (/tmp or /dev/shm), owned by the inner `user`; call it before showing anything inside.
  void mount_memory(const std::filesystem::path& folder, int64_t size_mb, unsigned user);
  /// Mounts /proc, if the kernel allows it.
  void mount_proc();
  /// Adds mount points for each program: /dev/shm, and /dev/fd for its descriptors. /dev/stdin, /dev/stdout,
  /// /dev/stderr and (below the mount of mount_proc()) /proc/self/fd are links to /dev/fd.
  void add_mount_points();

  /// Returns the steps, in execution order.
  const std::vector<BoxStep>& steps() const { return steps_; }

 private:
  bool is_shown(const std::filesystem::path& path) const;

  std::vector<BoxStep> steps_;
  std::set<std::filesystem::path> made_, shown_;
};

}  // namespace roll
