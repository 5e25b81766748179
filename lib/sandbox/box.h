// A sandbox for programs that nobody has read: models' answers. Starting one costs a process and the namespaces around
// it (box_process.h); each program then costs two forks of an interpreter that is already there (python/zygote.py).
//
// A program has: namespaces, a /tmp and a /dev/shm in memory that end with it, Python and the system's programs, its
// standard streams, also by name (/dev/stdin, /proc/self/fd/0; processes that it starts find its streams there, not
// their own). It has not: a network, other files, the rest of /proc, other processes, capabilities, the system calls
// that syscall_filter.h leaves out, nor more than its ProgramLimits. When it ends, whatever it started ends.
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
  bool is_isolated = true;  // false: only limits and the filter of system calls
};

/// One thread at a time; the programs of a box may talk with each other as far as they are given a channel.
class Box {
 public:
  /// Starts the box's process. UserError: no such Python. SystemError: what the kernel refused.
  explicit Box(const BoxOptions& options);
  /// Kills all that is in it.
  ~Box();

  /// SystemError: the box is gone, and needs to be made anew.
  Program start(ProgramRequest request);
  /// Two that have one folder for their files, and nothing else in common but what they are given.
  std::vector<Program> start_pair(ProgramRequest first, ProgramRequest second);
  /// start() and Program::await().
  ProgramEnd run(ProgramRequest request, Program::Clock::time_point deadline);

 private:
  std::string work_folder();
  Program start_in(const std::string& folder, ProgramRequest request, bool shares_tmp);

  bool is_isolated_;
  BoxProcess process_;
  std::optional<ScratchFolder> folder_;  // not isolated: where its programs have their files
  int64_t num_programs_ = 0;
};

/// Why programs cannot be isolated here, in the kernel's words; nothing where they can.
std::optional<std::string> why_not_isolated(const std::string& python);

}  // namespace roll
