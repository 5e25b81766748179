// What Open MPI 4 keeps of a job on this host: a folder with sockets and shared files, which names the job, and the
// ranks' segments of shared memory, which have its name. An mpirun that is killed leaves all of it behind.
#pragma once

#include <sys/types.h>

#include <filesystem>

namespace roll {

struct SessionPlaces {
  std::filesystem::path sessions;  // holds pid.<mpirun's>
  std::filesystem::path segments;
};
/// Where this user's mpirun has them.
SessionPlaces session_places();

/// Removes what an mpirun that was killed has left; nothing where it left none. Only for an mpirun and ranks that have
/// ended.
void remove_session(const SessionPlaces& places, pid_t mpirun) noexcept;

}  // namespace roll
