// Runs a user's long-lived program in its own sandbox: an environment or reward that answers lines (for untrusted code
// that a model wrote see box.h). The program is a child of process 1 of the sandbox's PID namespace, so the end of
// process 1 kills all its descendants.
//
// The program sees the system's programs and libraries, its own installation, and the files and folders that its
// command names, read-only and at the same paths as outside. Its working directory has our path, and only these files.
// /tmp and /dev/shm are private, in memory. It inherits none of our environment variables and has no network.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "process/child_process.h"

namespace roll {

struct BoxedProgram {
  std::vector<std::string> command;  // program (a path, or a name on PATH) and arguments
  int64_t memory_mb = 4096;          // limit in MiB for each process, and for all processes and /dev/shm together
};

/// Returns the paths that a sandbox for the command shows: the absolute paths of existing files and folders among its
/// words. Instead of an executable X/bin/NAME, returns those of X/bin, X/lib, X/lib64 and X/pyvenv.cfg that exist; the
/// same for each target of its symbolic links. Leaves out / and /tmp, and everything below /dev, /proc and /sys.
std::vector<std::filesystem::path> find_named_paths(const std::vector<std::string>& command);

/// Starts the program; ChildProcess (process/child_process.h) takes the result and talks to it. A program called
/// python* is replaced by the interpreter that it runs, whose folders are shown (interpreter.h). Throws UserError if
/// the program does not exist or may not be executed; SystemError, with the reason, if the kernel refuses a step.
StartedProgram start_boxed(const BoxedProgram& program);

/// Returns why the program cannot run in a sandbox on this machine, with a remedy; nullopt if it can. Runs a shell in
/// such a sandbox to find out, but not the program. Throws UserError if the program does not exist or may not be
/// executed.
std::optional<std::string> why_not_boxed(const BoxedProgram& program);

}  // namespace roll
