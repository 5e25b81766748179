// The hosts that a run may use, from a file in Open MPI's format: one "name slots=N" a line, # begins a comment.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace roll {

struct Host {
  std::string name;   // as mpirun reaches it: a host name or an address, perhaps user@name
  int64_t slots = 0;  // ranks it takes: its GPUs, or fewer
};

/// In the file's order, which is the order of the ranks. UserError with file and line: a name that comes twice, slots
/// that are missing or no number from 1 to 65536, other words; with the file: it cannot be read, or names no host.
std::vector<Host> read_hostfile(const std::filesystem::path& file);

int64_t num_slots(const std::vector<Host>& hosts);

}  // namespace roll
