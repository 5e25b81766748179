// Reads the hosts of a run from a file in Open MPI's format: one "name slots=N" per line, # begins a comment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace roll {

struct Host {
  std::string name;   // host name or address for mpirun, perhaps user@name
  int64_t slots = 0;  // number of ranks: its GPUs, or fewer
};

/// Returns the hosts in the file's order, which is the order of the ranks. UserError with file and line: a name occurs
/// twice, slots are missing or not in 1 to 65536, or there are other words. UserError with the file: it cannot be read,
/// or names no host.
std::vector<Host> read_hostfile(const std::filesystem::path& file);

int64_t num_slots(const std::vector<Host>& hosts);

}  // namespace roll
