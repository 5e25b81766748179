// The process that all programs of a box descend from, and the namespaces around it: users, processes, mounts, network,
// IPC, host name, cgroups. It sees the interpreter's folders and the system's programs and libraries, read-only, four
// devices, and nothing else of the machine: no network, no /etc, no /home, no process but its own.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/descriptor.h"
#include "sandbox/interpreter.h"

namespace roll {

struct BoxProcess {
  pid_t pid = -1;
  Descriptor control;  // SOCK_SEQPACKET; its other end is the process's descriptor 3
};

/// Starts `interpreter` with `arguments` in a box; without `is_isolated`, as a plain process. Running as root, it
/// becomes nobody there: a limit of processes does not bind root. SystemError: what the kernel refused.
BoxProcess start_box_process(const Interpreter& interpreter, const std::vector<std::string>& arguments,
                             bool is_isolated);

}  // namespace roll
