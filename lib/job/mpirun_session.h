// Files of mpirun (Open MPI 4) on this host: its session folder with sockets and shared files, and the ranks'
// shared-memory segments. A killed mpirun leaves them, so the supervisor removes them.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace roll {

struct SessionFolders {
  std::filesystem::path sessions;  // holds a session folder pid.<process id> for each mpirun of this user
  std::filesystem::path segments;  // holds the shared-memory segments: /dev/shm
};
/// Returns the folders of an mpirun that keeps its temporary files in `parent`; mpirun's default is $TMPDIR or /tmp.
SessionFolders session_folders(const std::filesystem::path& parent = std::filesystem::temp_directory_path());

/// Inserts options into mpirun's `command` that place its session folder in `parent`. By default all mpiruns of a user
/// share a folder, which the last one removes; another that starts at that moment fails. Returns false, without a
/// change, if an option in `command` or an environment variable (its name ends with tmpdir_base) already sets the
/// folder.
bool place_session(std::vector<std::string>& command, const std::filesystem::path& parent);

/// Removes the files of the mpirun with this process id, if there are any. Call it only after mpirun and its ranks on
/// this host have ended. Failures are ignored.
void remove_session(const SessionFolders& folders, pid_t mpirun) noexcept;

}  // namespace roll
