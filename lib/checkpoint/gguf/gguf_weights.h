// Reads the tensors of a GGUF file with the names, shapes and values of the model's Hugging Face folder, for HfFolder.
// Quantised tensors are converted to float32 when they are read; others keep their dtype.
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
  /// Maps the file and lists its tensors. Throws UserError as File and folder_tensors() do.
  explicit Weights(const std::filesystem::path& file);

  /// Returns name, dtype and shape of all tensors. Their `begin` and `end` stay 0.
  const std::vector<TensorEntry>& entries() const { return entries_; }
  /// Returns the path of the file that holds the tensor entries()[index]; a split model has several files.
  const std::string& part_file(size_t index) const;
  /// Returns the tensor entries()[index] on the CPU. If its bytes need no conversion, the tensor uses the mapped file,
  /// which it keeps alive; writing to the tensor never changes the file.
  at::Tensor read(size_t index) const;

 private:
  std::shared_ptr<const File> file_;  // shared with tensors that use the mapped file
  std::vector<FolderTensor> tensors_;
  std::vector<TensorEntry> entries_;
};

}  // namespace roll::gguf
