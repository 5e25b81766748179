// A sandbox (Box) for untrusted programs, such as code that a model wrote. Used by the reward type code_sandbox and by
// tools that run Python. Making a Box costs a process with its own namespaces (box_process.h) and the start of Python;
// each program in it then costs only two forks of that process (python/zygote.py).
//
// A program has: its own namespaces; /tmp and /dev/shm in memory, removed at its end; Python and the system's programs;
// its standard streams, also by name (/dev/stdin, /proc/self/fd/0; in child processes these name the program's streams,
// not their own). It does not have: a network, other files, the rest of /proc, other processes, capabilities, the
// system calls that syscall_filter.h excludes, or more than its ProgramLimits. When it ends, all its descendants are
// killed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/scratch_folder.h"
#include "sandbox/box_process.h"
#include "sandbox/program.h"

namespace roll {

struct BoxOptions {
  std::string python = "python3";  // interpreter for the sandbox and its Python programs: a path, or a name on PATH
  bool is_isolated = true;         // false: no protection except limits of single processes and a system call filter
};

/// For one thread at a time. Programs of a Box may run at the same time; they can only communicate over a
/// ProgramRequest::channel.
class Box {
 public:
  /// Starts the sandbox's process and waits until it is ready. Throws UserError if options.python is missing, older
  /// than 3.9 or does not start; SystemError, with the reason, if the kernel refuses a namespace or mount.
  explicit Box(const BoxOptions& options);
  /// Kills all programs in the sandbox.
  ~Box();

  /// Starts a program and returns at once; Program::await() waits for it. If the program cannot be started,
  /// Program::end() reports kNotStarted. Throws SystemError if the sandbox's process has ended; then a new Box is
  /// needed.
  Program start(ProgramRequest request);
  /// Starts two programs that share their working folder /tmp, /dev/shm and, if their requests have one, a channel, but
  /// nothing else. Returns {first, second}. Throws like start().
  std::vector<Program> start_pair(ProgramRequest first, ProgramRequest second);
  /// Starts a program, waits for its end, and kills it at `deadline`. Throws like start() and Program::await().
  ProgramEnd run(ProgramRequest request, Program::Clock::time_point deadline);

 private:
  std::string work_folder();
  Program start_in(const std::string& folder, ProgramRequest request, bool shares_tmp);

  bool is_isolated_;
  BoxProcess process_;
  std::optional<ScratchFolder> folder_;  // work folders of programs, if not isolated
  int64_t num_programs_ = 0;
};

/// Returns the reason why this machine cannot isolate programs; nullopt if it can. Runs a program in a new Box to find
/// out. `python`: as in BoxOptions. Throws UserError like the constructor of Box.
std::optional<std::string> why_not_isolated(const std::string& python);

}  // namespace roll
