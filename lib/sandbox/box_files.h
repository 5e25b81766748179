// Plan of the files that a sandbox sees: the system's programs and libraries, four devices, and paths added by show(),
// all read-only; and folders in memory. The plan is made before the sandbox's process starts, because that process
// (box_entry.h), which carries it out, may not allocate memory.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace roll {

/// One step of building a sandbox's file system.
struct BoxStep {
  enum class Kind {
    kFolder,        // makes an empty folder
    kClosedFolder,  // makes a folder that can be entered, but not listed
    kFile,          // makes an empty file, over which a kBind step mounts
    kLink,          // makes a symbolic link to `from`
    kBind,          // mounts the file or folder `from`, read-only
    kBindDevice,    // mounts the device `from`
    kMemory,        // mounts a tmpfs with the mount options `from`
    kProc           // mounts a new /proc; an error is ignored
  } kind;
  std::string from;  // kBind, kBindDevice: "/old" + absolute path outside of the sandbox
  std::string to;    // absolute path in the sandbox that the step makes or mounts over
};

/// Makes the plan. Paths are absolute; they are the same inside and outside of the sandbox.
class BoxFiles {
 public:
  /// Plans the system's files, an empty /tmp, and an empty /proc that cannot be listed.
  BoxFiles();

  /// Adds an existing file, or a folder with its content, unless it is already shown.
  void show(const std::filesystem::path& path);
  /// Adds an empty folder and those above it, unless a shown folder contains it.
  void add_folder(const std::filesystem::path& folder);
  /// Makes `folder` (/tmp or /dev/shm) a writable folder in memory of at most `size_mb` MiB. `user`: user id of the
  /// owner inside the sandbox. Call it before showing anything inside the folder.
  void mount_memory(const std::filesystem::path& folder, int64_t size_mb, unsigned user);
  /// Mounts a /proc with the sandbox's processes; it stays empty if the kernel refuses.
  void mount_proc();
  /// Adds the empty folders on which python/zygote.py mounts each program's own /dev/shm and /dev/fd (its descriptors).
  /// /dev/stdin, /dev/stdout, /dev/stderr and /proc/self/fd become links to /dev/fd; the last is hidden where
  /// mount_proc(), which must be called later, mounts a /proc.
  void add_mount_points();

  /// Returns the steps, in execution order.
  const std::vector<BoxStep>& steps() const { return steps_; }

 private:
  bool is_shown(const std::filesystem::path& path) const;

  std::vector<BoxStep> steps_;
  std::set<std::filesystem::path> made_, shown_;
};

}  // namespace roll
