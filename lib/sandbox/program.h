// A program in a Box (box.h): the request to start it, its limits and how it ended. Its output is untrusted bytes. The
// facts about its end come from its parent, the keeper process (python/zygote.py), which the program cannot reach.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace roll {

struct ProgramLimits {
  int64_t memory_mb = 1024;  // MiB for each process, and for all processes and /dev/shm together
  int64_t tmp_mb = 64;       // MiB for all files in /tmp, which are in memory
  int64_t output_mb = 8;     // MiB on standard output
  int64_t processes = 32;    // processes and threads at the same time
  int64_t cpu_s = 6;         // seconds of processor time for each process
};

/// A file in a program's working folder.
struct ProgramFile {
  std::string name;     // without a folder
  std::string content;  // any bytes
  int mode = 0600;      // permissions
};

struct ProgramRequest {
  enum class Role {
    kScript,    // runs `source`, a Python program
    kSolution,  // loads `source`, a Python module; a kTests program calls its functions over `channel`
    kTests,     // tests the kSolution program behind `channel`, or without a channel a text; `source`: the tests, JSON
                // for python/harness.py (with the text)
    kTogether,  // runs a program and its tests in one process; `source`: JSON {"source": Python, "tests": such JSON}
    kCommand    // runs `command`
  };
  Role role = Role::kScript;
  std::string source{};                // for all roles but kCommand
  std::vector<std::string> command{};  // kCommand: program (relative to the working folder, or on PATH) and arguments
  std::vector<ProgramFile> files{};    // files that the working folder has at the start; at most 26
  std::string input{};                 // standard input
  std::string artifact{};              // name of a file to return if the exit status is 0; "": none
  ProgramLimits limits{};
  Descriptor channel{};  // kSolution, kTests: one end of a socket pair between both programs
};

struct ProgramEnd {
  enum class How {
    kExited,     // ended by itself; `status` is the exit status
    kSignal,     // killed by a signal, such as for exceeding cpu_s; `status` is the signal
    kTimeout,    // killed at the deadline of await()
    kMemory,     // killed because it used more than memory_mb
    kOutput,     // killed because it wrote more than output_mb
    kStopped,    // killed because programs[0] of await() had ended
    kNotStarted  // could not be started, or its keeper ended; `why` has the reason
  };
  How how = How::kNotStarted;
  int status = 0;          // meaning: see `how`
  std::string why{};       // reason for kNotStarted
  std::string output{};    // standard output, at most output_mb
  std::string errors{};    // the last bytes of standard error: all, or at least 4096
  std::string artifact{};  // content of the requested file, cut at about 64 MiB; "": the program failed or made none
  double cpu_s = 0;        // processor time of the program and of its children that it waited for, in seconds

  /// Returns whether the program ended by itself with exit status 0.
  bool ended_well() const { return how == How::kExited && status == 0; }
};

/// A program that Box::start() has started. Destroying it kills the program.
class Program {
 public:
  /// For Box. `leash`: socket to the keeper; when it closes, the keeper kills the program. `output`, `errors`: read
  /// ends of the program's streams. `max_output`: bytes of standard output allowed.
  Program(Descriptor leash, Descriptor output, Descriptor errors, int64_t max_output)
      : leash_(std::move(leash)), output_(std::move(output)), errors_(std::move(errors)), max_output_(max_output) {}

  using Clock = std::chrono::steady_clock;
  /// Waits until programs[0] ends, or kills it at `deadline`; then kills the others and waits for their end. Meanwhile
  /// reads the output of all. `programs` must not be empty. Throws SystemError if a killed program does not end within
  /// 20 seconds.
  static void await(std::span<Program> programs, Clock::time_point deadline);

  /// Returns how the program ended; valid after await(). The caller may move from it.
  ProgramEnd& end() { return end_; }

 private:
  void stop(ProgramEnd::How reason);
  void read_output();
  void read_report();
  void take_artifact(Descriptor file);

  Descriptor leash_, output_, errors_;
  int64_t max_output_;
  bool has_ended_ = false, is_stopped_ = false;
  ProgramEnd::How stop_reason_ = ProgramEnd::How::kStopped;
  ProgramEnd end_;
};

}  // namespace roll
