// Runs a user's long-lived program in a separate sandbox: an environment or reward that answers lines. The program is a
// child of the sandbox's process 1, so the end of process 1 kills all descendants.
//
// It sees the system's programs and libraries, its own installation, and the files and folders that its command names,
// read-only and at their outside paths. Its working directory is roll's, with only these files in it. /tmp and /dev/shm
// are private, in memory. It inherits none of our environment variables.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "process/child_process.h"

namespace roll {

struct BoxedProgram {
  std::vector<std::string> command;
  int64_t memory_mb = 4096;  // per process, and for all together with /dev/shm
};

/// Returns absolute paths of the existing files and folders that words of the command name. A program X/bin/NAME stands
/// for X/bin, X/lib, X/lib64 and X/pyvenv.cfg, also for each target of its symbolic links. Leaves out / and /tmp, and
/// everything below /dev, /proc and /sys.
std::vector<std::filesystem::path> find_named_paths(const std::vector<std::string>& command);

/// Starts the program. A program called python* is replaced by the interpreter that it runs, with its folders
/// (interpreter.h). UserError: the program does not exist. SystemError: the kernel refuses a step (with its reason).
StartedProgram start_boxed(const BoxedProgram& program);

/// Returns why the program cannot run in a sandbox here, with a remedy; nullopt if it can. UserError: it is missing.
std::optional<std::string> why_not_boxed(const BoxedProgram& program);

}  // namespace roll
