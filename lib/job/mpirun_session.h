// Removes files that a killed mpirun leaves on this host: Open MPI 4's session folder with sockets and shared files,
// and the ranks' shared-memory segments, whose names follow from the folder.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace roll {

struct SessionFolders {
  std::filesystem::path sessions;  // holds pid.<mpirun's pid>
  std::filesystem::path segments;
};
/// Returns the folders that this user's mpirun uses.
SessionFolders session_folders();

/// Removes the files of a killed mpirun, if any. Call it only after that mpirun and its ranks have ended.
void remove_session(const SessionFolders& folders, pid_t mpirun) noexcept;

}  // namespace roll
