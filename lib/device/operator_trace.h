// When which of LibTorch's operators ran, and on a GPU which kernel, in Chrome's format, which ui.perfetto.dev and
// chrome://tracing show.
#pragma once

#include <filesystem>

namespace roll {

/// Records what this process computes until it is saved, or thrown away with the object. One at a time.
class OperatorTrace {
 public:
  explicit OperatorTrace(std::filesystem::path file);
  OperatorTrace(const OperatorTrace&) = delete;
  OperatorTrace& operator=(const OperatorTrace&) = delete;
  ~OperatorTrace();

  /// Ends it and writes the file, whose folder is made. SystemError.
  void save();

 private:
  std::filesystem::path file_;
  bool is_recording_ = true;
};

}  // namespace roll
