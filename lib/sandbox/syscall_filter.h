// The seccomp filter of programs in a sandbox (box.h, boxed_program.h). It allows the system calls for computing, files
// and own processes. All others fail with ENOSYS: networks (except AF_UNIX, which cannot leave the sandbox), namespaces
// and mounts, ptrace and other processes' memory, keys, BPF, io_uring, memory outside the limits (memfd, System V),
// kernel administration.
#pragma once

#include <string>

namespace roll {

/// Returns the filter for this machine's architecture: the bytes of an array of struct sock_filter, for
/// prctl(PR_SET_SECCOMP). Throws SystemError if libseccomp fails.
std::string syscall_filter();

}  // namespace roll
