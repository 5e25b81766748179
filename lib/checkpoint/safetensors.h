// Reads and writes safetensors files: an 8-byte little-endian header length, a JSON header, then the raw bytes. The
// header is checked in full before any data is touched; a bad file is a UserError "file: tensor: what". The file is
// mapped, so that unused tensors are never read; written files are whole or absent.
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

/// Tensors in the order of writing or declaration; names are unique.
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

/// Returns the safetensors name of a dtype ("BF16"). Bug: the format has no such dtype.
std::string dtype_name(at::ScalarType dtype);

/// A mapped file. Tensors read from it keep the mapping alive.
class SafetensorsFile {
 public:
  /// Maps `file` and checks its header. UserError: missing, too short, header longer than the file, malformed JSON,
  /// unknown dtype, duplicates, or a byte range that disagrees with the shape, overlaps, leaves holes or exceeds the
  /// file.
  explicit SafetensorsFile(const std::filesystem::path& file);

  /// Returns the tensors in the order of their bytes.
  const std::vector<TensorEntry>& entries() const { return entries_; }

  /// Returns the tensor as stored: its dtype and shape, on the CPU, over copy-on-write pages of the file. UserError:
  /// the file has no such tensor.
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

/// Writes the tensors (any device, made contiguous) atomically, in the given order, with metadata {"format":"pt"},
/// which transformers expects. SystemError: the disk refuses. Bug: a name occurs twice.
FileSum write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors);

}  // namespace roll
