// Which system calls a program in the sandbox may make: those that computing, files and its own processes need. All
// others answer "no such call": networks (but AF_UNIX, which ends at the sandbox), namespaces and mounts, ptrace and
// other processes' memory, keys, BPF, io_uring, memory that no limit counts (memfd, System V), the kernel's own
// affairs.
#pragma once

#include <string>

namespace roll {

/// The filter as the BPF code that prctl(PR_SET_SECCOMP) takes, for this machine's architecture. SystemError.
std::string syscall_filter();

}  // namespace roll
