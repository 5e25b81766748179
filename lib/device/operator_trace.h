// Records a profiler trace of LibTorch operators and GPU kernels into a file in Chrome's format, for ui.perfetto.dev
// and chrome://tracing.
#pragma once

#include <filesystem>

namespace roll {

/// Records from construction to save(). Destruction without save() discards the trace. Only one may exist at a time.
class OperatorTrace {
 public:
  /// Begins the recording; save() will write to `file`.
  explicit OperatorTrace(std::filesystem::path file);
  OperatorTrace(const OperatorTrace&) = delete;
  OperatorTrace& operator=(const OperatorTrace&) = delete;
  ~OperatorTrace();

  /// Ends the recording, creates the file's folder and writes the file; call it once. Throws SystemError if the file
  /// cannot be written.
  void save();

 private:
  std::filesystem::path file_;
  bool is_recording_ = true;
};

}  // namespace roll
