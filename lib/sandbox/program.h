// One program in a box: what it is, what it may use, and how it ended. Nothing that it writes is trusted: its output is
// bytes, and what is known of its end comes from the keeper above it, which it cannot reach.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace roll {

struct ProgramLimits {
  int64_t memory_mb = 1024;  // of each process, and of all together with their files in /dev/shm
  int64_t tmp_mb = 64;       // of its files, which are in memory too
  int64_t output_mb = 8;     // of standard output
  int64_t processes = 32;
  int64_t cpu_s = 6;  // of each process
};

struct ProgramFile {
  std::string name, content;
  int mode = 0600;
};

struct ProgramRequest {
  enum class Role {
    kScript,    // `source` as a Python program, from standard input to standard output
    kSolution,  // `source` as a module whose functions a kTests calls over `channel`
    kTests,     // `source` says which tests; see python/harness.py
    kTogether,  // `source` has a program and its tests, which run in one process
    kCommand    // `command`, among `files`
  };
  Role role = Role::kScript;
  std::string source{};
  std::vector<std::string> command{};
  std::vector<ProgramFile> files{};
  std::string input{};
  std::string artifact{};  // a file that is wanted when it has ended well
  ProgramLimits limits{};
  Descriptor channel{};  // between kSolution and kTests
};

struct ProgramEnd {
  enum class How {
    kExited,   // with `status`
    kSignal,   // `status`
    kTimeout,  // it was stopped at the deadline
    kMemory,   // its processes used more than memory_mb
    kOutput,   // it wrote more than output_mb
    kStopped,  // nobody needed it any more
    kNotStarted
  };
  How how = How::kNotStarted;
  int status = 0;
  std::string why{};               // of kNotStarted
  std::string output{}, errors{};  // of errors the last 4096 bytes
  std::string artifact{};
  double cpu_s = 0;

  bool ended_well() const { return how == How::kExited && status == 0; }
};

/// A program that runs.
class Program {
 public:
  Program(Descriptor leash, Descriptor output, Descriptor errors, int64_t max_output)
      : leash_(std::move(leash)), output_(std::move(output)), errors_(std::move(errors)), max_output_(max_output) {}

  using Clock = std::chrono::steady_clock;
  /// Waits for the end of the first of `programs`, reading what all of them write; at `deadline`, and then for the
  /// others, stops them. SystemError: one does not end although it was killed.
  static void await(std::span<Program> programs, Clock::time_point deadline);

  /// After await().
  ProgramEnd& end() { return end_; }

 private:
  void stop(ProgramEnd::How why);
  void read_some();
  void read_report();
  void take_artifact(Descriptor file);

  Descriptor leash_, output_, errors_;
  int64_t max_output_;
  bool has_ended_ = false, is_stopped_ = false;
  ProgramEnd::How stopped_as_ = ProgramEnd::How::kStopped;
  ProgramEnd end_;
};

}  // namespace roll
