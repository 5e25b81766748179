// What a box shows of the machine's file system: the system's programs and libraries, four devices, and what it is told
// to, all of it read-only. A plan, made before the process that carries it out.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace roll {

/// One step of making a box's file system; `from` is below the old root.
struct BoxStep {
  enum class Kind { kFolder, kClosedFolder, kFile, kLink, kBind, kBindDevice, kMemory, kProc } kind;
  std::string from, to;  // of kMemory, `from` is its mount options
};

class BoxFiles {
 public:
  /// The system's, an empty /tmp, and an empty /proc that nobody may list.
  BoxFiles();

  /// A folder with all that is in it, or a file. Absolute, and there.
  void show(const std::filesystem::path& path);
  /// An empty one, where nothing is shown.
  void add_folder(const std::filesystem::path& folder);
  /// A folder in memory, /tmp or /dev/shm, before anything in it is shown: a size in MiB, and the user inside that it
  /// belongs to.
  void mount_memory(const std::filesystem::path& folder, int64_t size_mb, unsigned user);
  /// Where the kernel allows it.
  void mount_proc();
  /// Folders for what each program mounts there: /dev/shm, and its descriptors on /dev/fd, which /dev/stdin,
  /// /dev/stdout, /dev/stderr and, below what mount_proc() mounts, /proc/self/fd lead to.
  void add_mount_points();

  const std::vector<BoxStep>& steps() const { return steps_; }

 private:
  bool is_shown(const std::filesystem::path& path) const;

  std::vector<BoxStep> steps_;
  std::set<std::filesystem::path> made_, shown_;
};

}  // namespace roll
