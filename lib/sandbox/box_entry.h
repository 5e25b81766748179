// Starts a process in a sandbox: own namespaces (users, processes, mounts, network, IPC, host name, cgroups), own file
// system (box_files.h), no privileges, limits, and a system call filter. Used by box_process.h and boxed_program.h.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/box_files.h"

namespace roll {

/// User and group id of the program inside its user namespace.
inline constexpr unsigned kInsideUser = 1000;

struct BoxEntry {
  bool is_isolated = true;                         // false: a plain process; `files` and `capabilities` are ignored
  BoxFiles files{};                                // visible files
  std::vector<std::string> words{}, variables{};   // command with an absolute program path; environment
  std::array<int, 4> descriptors{-1, -1, -1, -1};  // become 0 to 3, all others are closed; -1: /dev/null
  unsigned capabilities = 0;                       // bit set, kept inside its user namespace
  std::map<int, rlim_t> limits{};                  // by RLIMIT_...; lowered to the machine's hard limits
  std::string folder{};                            // working directory; "": the root
  std::string filter{};                            // from syscall_filter(); "": none
  bool dies_with_us = false;                       // killed when the thread that started it ends
};

/// Starts the program as process 1 of its PID namespace and returns its pid. If we are root, it runs as user nobody,
/// since RLIMIT_NPROC does not bind root. SystemError: the kernel refuses a step (with its reason).
pid_t start_in_box(const BoxEntry& entry);

/// Returns an error text: this machine cannot isolate programs, `why`, and the remedy. Callers append an alternative.
std::string cannot_isolate(std::string_view why);

}  // namespace roll
