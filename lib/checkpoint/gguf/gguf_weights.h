// The tensors of a GGUF file as a Hugging Face folder would have them. Quantised ones are float32 here, computed when
// they are read; others keep their dtype.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/gguf/gguf_file.h"
#include "checkpoint/gguf/tensor_names.h"
#include "checkpoint/safetensors.h"

namespace roll::gguf {

class Weights {
 public:
  /// Maps the file and names its tensors. Throws UserError as File and folder_tensors() do.
  explicit Weights(const std::filesystem::path& file);

  /// Returns all tensors; `begin` and `end` are not set.
  const std::vector<TensorEntry>& entries() const { return entries_; }
  /// Returns the path of the file that holds entry `index`.
  const std::string& part_file(size_t index) const;
  /// Returns entry `index` on the CPU. A tensor that ggml did not change lies over copy-on-write pages of the
  /// file.
  at::Tensor read(size_t index) const;

 private:
  std::shared_ptr<const File> file_;  // tensors keep it, too
  std::vector<FolderTensor> tensors_;
  std::vector<TensorEntry> entries_;
};

}  // namespace roll::gguf
