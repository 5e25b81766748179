// Removes files that a killed mpirun of Open MPI 4 leaves on this host, for the supervisor: its session folder with
// sockets and shared files, and the ranks' shared-memory segments.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace roll {

struct SessionFolders {
  std::filesystem::path sessions;  // holds a session folder pid.<process id> for each mpirun of this user
  std::filesystem::path segments;  // holds the shared-memory segments: /dev/shm
};
/// Returns the folders that this user's mpirun uses.
SessionFolders session_folders();

/// Removes the files of the mpirun with this process id, if there are any. Call it only after mpirun and its ranks on
/// this host have ended. Failures are ignored.
void remove_session(const SessionFolders& folders, pid_t mpirun) noexcept;

}  // namespace roll
