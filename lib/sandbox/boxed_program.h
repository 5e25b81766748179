// A program of the user's in a box, for as long as it lives: an environment that answers lines. It is process 1's child
// in a box of its own, so that the end of process 1 is that of all that it started.
//
// It sees the system's programs and libraries, the installation that it is part of, and the files and folders that its
// command names, read-only and where they are outside; it starts in the folder that roll started in, which is otherwise
// empty. /tmp and /dev/shm are its own, in memory. Of the environment's variables it has none of ours.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "process/child_process.h"

namespace roll {

struct BoxedProgram {
  std::vector<std::string> command;
  int64_t memory_mb = 4096;  // of each process, and of all together with their files in /dev/shm
};

/// Absolute paths of what the words of a command name, if it is there: of a program its installation (of X/bin/NAME the
/// folders X/bin, X/lib and X/lib64), also where links lead. Not what each box has of its own: /, /tmp, /dev, /proc.
std::vector<std::filesystem::path> named_in(const std::vector<std::string>& command);

/// A program that is a Python is the one that answers to its name, with its folders (interpreter.h). UserError: there
/// is no such program. SystemError: what the kernel refused.
StartedProgram start_boxed(const BoxedProgram& program);

/// Why it cannot be started in a box here, and what to do; nothing where it can. UserError: no such program.
std::optional<std::string> why_not_boxed(const BoxedProgram& program);

}  // namespace roll
