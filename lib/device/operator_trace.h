// Profiler trace of LibTorch operators and GPU kernels in Chrome's format, for ui.perfetto.dev and chrome://tracing.
#pragma once

#include <filesystem>

namespace roll {

/// Records operators of this process until save() or destruction, which discards the trace. Only one at a time.
class OperatorTrace {
 public:
  explicit OperatorTrace(std::filesystem::path file);
  OperatorTrace(const OperatorTrace&) = delete;
  OperatorTrace& operator=(const OperatorTrace&) = delete;
  ~OperatorTrace();

  /// Ends the recording, creates the folder and writes the file. SystemError: the file cannot be written.
  void save();

 private:
  std::filesystem::path file_;
  bool is_recording_ = true;
};

}  // namespace roll
