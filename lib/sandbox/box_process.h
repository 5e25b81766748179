// Starts the process of a Box (box.h) that forks all its programs, in its own namespaces: users, processes, mounts,
// network, IPC, host name, cgroups. It sees the interpreter's folders and the system's programs and libraries, all
// read-only, and four devices. It sees no network, no /etc, no /home and no other processes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/descriptor.h"
#include "sandbox/interpreter.h"

namespace roll {

struct BoxProcess {
  pid_t pid = -1;
  Descriptor control;  // SOCK_SEQPACKET; the other end is descriptor 3 of the process
};

/// Starts `interpreter` with `arguments` in a sandbox, or as a plain process without `is_isolated`. If we are root, it
/// runs as nobody, since RLIMIT_NPROC does not bind root. SystemError: the kernel refuses a step (with its reason).
BoxProcess start_box_process(const Interpreter& interpreter, const std::vector<std::string>& arguments,
                             bool is_isolated);

}  // namespace roll
