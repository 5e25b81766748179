// The seccomp filter of programs in a sandbox. It allows the system calls for computing, files and own processes. All
// others return ENOSYS: networks (except AF_UNIX, which cannot leave the sandbox), namespaces and mounts, ptrace and
// other processes' memory, keys, BPF, io_uring, memory outside the limits (memfd, System V), kernel administration.
#pragma once

#include <string>

namespace roll {

/// Returns BPF code for prctl(PR_SET_SECCOMP) on this machine's architecture. SystemError: libseccomp fails.
std::string syscall_filter();

}  // namespace roll
