// Starts the process of a Box (box.h), which later forks all programs of the Box. It has its own namespaces: users,
// processes, mounts, network, IPC, host name, cgroups. It sees the interpreter's folders and the system's programs and
// libraries, all read-only, and four devices. It sees no network, no /etc, no /home and no other processes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/descriptor.h"
#include "sandbox/interpreter.h"

namespace roll {

/// The caller must kill and reap the process.
struct BoxProcess {
  pid_t pid = -1;
  Descriptor control;  // our end of a SOCK_SEQPACKET socket pair; the other end is descriptor 3 of the process
};

/// Starts the Python `interpreter` with `arguments`, in a sandbox if `is_isolated`, else as a plain process. If we are
/// root, a process in a sandbox runs as user nobody (start_in_box()). Throws SystemError, with the reason, if the
/// kernel refuses a step.
BoxProcess start_box_process(const Interpreter& interpreter, const std::vector<std::string>& arguments,
                             bool is_isolated);

}  // namespace roll
