// How a process enters a box and becomes a program there: namespaces of its own (users, processes, mounts, network,
// IPC, host name, cgroups), a file system of its own (box_files.h), no rights, limits, a filter of system calls.
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

/// Of the program, in its namespace of users.
inline constexpr unsigned kInsideUser = 1000;

struct BoxEntry {
  bool is_isolated = true;                         // false: a plain process, and of what follows `limits` and `filter`
  BoxFiles files{};                                // what it sees
  std::vector<std::string> words{}, variables{};   // of the program, absolute, and of its environment
  std::array<int, 4> descriptors{-1, -1, -1, -1};  // its 0 to 3, and it has no other; -1: /dev/null
  unsigned capabilities = 0;                       // that it keeps in its namespace of users
  std::map<int, rlim_t> limits{};                  // by RLIMIT_...; what the machine allows, if that is less
  std::string folder{};                            // where it starts; "": the root
  std::string filter{};                            // syscall_filter(); "": none
  bool dies_with_us = false;                       // when the thread that started it ends
};

/// Starts the program, as process 1 of its namespace: its pid. Running as root, it becomes nobody there: a limit of
/// processes does not bind root. SystemError: what the kernel refused.
pid_t start_in_box(const BoxEntry& entry);

/// For the user of a machine that does not: what it refused, and what to do; an alternative goes behind it.
std::string cannot_isolate(std::string_view why);

}  // namespace roll
