// Reads the hosts of a job from a hostfile in Open MPI's format: one "name slots=N" per line, perhaps with max_slots=M;
// # begins a comment. settings/loading.h derives the number of ranks from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace roll {

struct Host {
  std::string name;   // host name or address for mpirun, perhaps user@name
  int64_t slots = 0;  // number of ranks to start there: the host's GPUs, or fewer
};

/// Returns the hosts in the file's order; the first ranks run on the first host. Throws UserError with file and line if
/// a host occurs twice, its slots are missing, not in 1 to 65536 or above max_slots, or a line has another word. Throws
/// UserError if the file cannot be read, names no host, or has more than 65536 slots in all.
std::vector<Host> read_hostfile(const std::filesystem::path& file);

/// Returns the sum of the hosts' slots.
int64_t num_slots(const std::vector<Host>& hosts);

}  // namespace roll
