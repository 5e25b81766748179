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

/// A process to start and its sandbox.
struct BoxEntry {
  bool is_isolated = true;                         // false: a plain process; `files` and `capabilities` are ignored
  BoxFiles files{};                                // the files that the process sees
  std::vector<std::string> words{};                // the command: absolute path of the program, and its arguments
  std::vector<std::string> variables{};            // the whole environment, as "NAME=value"
  std::array<int, 4> descriptors{-1, -1, -1, -1};  // our descriptors that become its 0 to 3; -1: /dev/null
  unsigned capabilities = 0;       // set of bits 1 << CAP_...: capabilities that it keeps in its user namespace
  std::map<int, rlim_t> limits{};  // RLIMIT_... -> limit, lowered to this process's hard limit if that is smaller
  std::string folder{};            // working directory; "": the root if isolated, else ours
  std::string filter{};            // result of syscall_filter(); "": no filter
  bool dies_with_us = false;       // the kernel kills it when the thread that started it ends
};

/// Starts the process and returns its pid, which the caller must reap. An isolated process is process 1 of its PID
/// namespace. If we are root, it runs as user nobody (if the system lets us), since RLIMIT_NPROC does not bind root.
/// The process's descriptors above 3 are closed. Throws SystemError, with the reason, if the kernel refuses a step.
pid_t start_in_box(const BoxEntry& entry);

/// Returns the text of an error message: "this machine cannot isolate programs: ", `why` (the kernel's reason), and the
/// remedy. Callers append an alternative, such as not to isolate.
std::string cannot_isolate(std::string_view why);

}  // namespace roll
