// A sandbox for untrusted programs, such as code that a model wrote. Starting one costs a process and its namespaces
// (box_process.h). Each program then costs two forks of a running interpreter (python/zygote.py).
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
  std::string python = "python3";
  bool is_isolated = true;  // false: only limits and the system call filter
};

/// For one thread at a time. Programs of a Box can only communicate over a channel in their requests.
class Box {
 public:
  /// Starts the sandbox's process. UserError: `python` is missing, older than 3.9 or does not start. SystemError: the
  /// kernel refuses a namespace or mount (with its reason).
  explicit Box(const BoxOptions& options);
  /// Kills all programs in the sandbox.
  ~Box();

  /// Starts a program. SystemError: the sandbox's process has ended; make a new Box.
  Program start(ProgramRequest request);
  /// Starts two programs that share one folder for their files and the channel in their requests, nothing else.
  std::vector<Program> start_pair(ProgramRequest first, ProgramRequest second);
  /// Calls start() and Program::await().
  ProgramEnd run(ProgramRequest request, Program::Clock::time_point deadline);

 private:
  std::string work_folder();
  Program start_in(const std::string& folder, ProgramRequest request, bool shares_tmp);

  bool is_isolated_;
  BoxProcess process_;
  std::optional<ScratchFolder> folder_;  // work folders of programs, if not isolated
  int64_t num_programs_ = 0;
};

/// Returns the kernel's reason why programs cannot be isolated here; nullopt if they can. Runs a program to find out.
std::optional<std::string> why_not_isolated(const std::string& python);

}  // namespace roll
