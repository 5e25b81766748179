// Reads and writes safetensors files: an 8-byte little-endian header length, a JSON header, then the tensors' raw
// bytes. The header is checked in full before any data is read. The file is mapped into memory, so that unused tensors
// are never read. Files are written atomically.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_sum.h"

namespace roll {

class MappedFile;

/// A list of named tensors, in the order of writing or of the model's declaration; names are unique.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// A tensor's entry in the header.
struct TensorEntry {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> shape;
  size_t begin = 0, end = 0;  // bytes from the start of the data section
};

/// Formats a shape for messages: "[3, 4]".
std::string shape_text(at::IntArrayRef shape);

/// Returns the name of a dtype in safetensors ("BF16"). Throws Bug if the format has no such dtype.
std::string dtype_name(at::ScalarType dtype);

/// A mapped file. Tensors read from it keep the mapping alive. Copies share it.
class SafetensorsFile {
 public:
  /// Maps `file` and checks its header. Throws UserError "file: tensor: problem" if the file is missing or too short,
  /// or its header is malformed, has duplicate names or an unknown dtype. Also throws it if byte ranges disagree with
  /// the shapes, overlap, leave gaps or exceed the file.
  explicit SafetensorsFile(const std::filesystem::path& file);

  /// Returns the tensors in the order of their bytes.
  const std::vector<TensorEntry>& entries() const { return entries_; }

  /// Returns the tensor with its stored dtype and shape, on the CPU. It uses the mapped pages if they are aligned, else
  /// a copy; writing to it never changes the file. Throws UserError if the file has no such tensor.
  at::Tensor read(const std::string& name) const;

 private:
  void parse_header(std::string_view text);
  void check_ranges(size_t data_bytes);

  std::string file_;
  std::shared_ptr<MappedFile> mapping_;
  size_t data_start_ = 0;
  std::vector<TensorEntry> entries_;
  std::vector<size_t> by_name_;  // indices of entries_
};

/// Writes the tensors (of any device) in the given order, with the metadata {"format":"pt"} that transformers expects.
/// Returns the file's size and checksum. Throws SystemError if writing fails, Bug if a name occurs twice.
FileSum write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors);

}  // namespace roll
