// A program in a Box (box.h): its request, its limits and how it ended. Nothing that it writes is trusted: its output
// is just bytes, and the facts about its end come from the keeper process above it, which it cannot reach.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"

namespace roll {

struct ProgramLimits {
  int64_t memory_mb = 1024;  // per process, and for all together with /dev/shm
  int64_t tmp_mb = 64;       // for its files, which are in memory
  int64_t output_mb = 8;     // for standard output
  int64_t processes = 32;
  int64_t cpu_s = 6;  // per process
};

struct ProgramFile {
  std::string name, content;
  int mode = 0600;
};

struct ProgramRequest {
  enum class Role {
    kScript,    // `source` is a Python program that reads `input`
    kSolution,  // `source` is a module; a kTests calls its functions over `channel`
    kTests,     // `source` describes the tests; see python/harness.py
    kTogether,  // `source` holds a program and its tests, run in one process
    kCommand    // runs `command` in a folder with `files`
  };
  Role role = Role::kScript;
  std::string source{};
  std::vector<std::string> command{};
  std::vector<ProgramFile> files{};
  std::string input{};
  std::string artifact{};  // name of a file to return if the program succeeds
  ProgramLimits limits{};
  Descriptor channel{};  // socket between kSolution and kTests
};

struct ProgramEnd {
  enum class How {
    kExited,   // `status` is the exit status
    kSignal,   // `status` is the signal
    kTimeout,  // stopped at the deadline
    kMemory,   // used more than memory_mb
    kOutput,   // wrote more than output_mb
    kStopped,  // stopped when the first program of await() had ended
    kNotStarted
  };
  How how = How::kNotStarted;
  int status = 0;
  std::string why{};               // reason for kNotStarted
  std::string output{}, errors{};  // `errors`: the end of standard error, at least 4096 bytes
  std::string artifact{};
  double cpu_s = 0;

  bool ended_well() const { return how == How::kExited && status == 0; }
};

/// A running program.
class Program {
 public:
  Program(Descriptor leash, Descriptor output, Descriptor errors, int64_t max_output)
      : leash_(std::move(leash)), output_(std::move(output)), errors_(std::move(errors)), max_output_(max_output) {}

  using Clock = std::chrono::steady_clock;
  /// Waits until the first of `programs` ends, or stops it at `deadline`; then stops the others. Reads the output of
  /// all meanwhile. SystemError: a program does not end although it was killed.
  static void await(std::span<Program> programs, Clock::time_point deadline);

  /// Returns how the program ended; valid after await().
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
