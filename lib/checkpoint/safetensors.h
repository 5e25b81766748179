// Named tensors in safetensors files: an 8-byte little-endian header length, a JSON header, then the raw bytes.
// The header is checked in full before any byte of data is touched; a bad file is a UserError "file: tensor: what".
// Goals: nothing is read that a caller does not use (the file is mapped); written files are whole or absent.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_sum.h"

namespace roll {

/// Tensors in the order in which they are written or were declared; names are unique.
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

/// What a header says of one tensor.
struct TensorEntry {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::vector<int64_t> shape;
  size_t begin = 0, end = 0;  // bytes from the start of the data section
};

/// "[3, 4]", for messages.
std::string shape_text(at::IntArrayRef shape);

/// The safetensors name of a dtype ("BF16"), and back. UserError / Bug for what the format does not hold.
std::string dtype_name(at::ScalarType dtype);

/// A mapped file. Tensors read from it keep the mapping alive.
class SafetensorsFile {
 public:
  /// Maps `file` and checks its header. UserError: missing, too short, header longer than the file, malformed
  /// JSON, unknown dtype, byte range that disagrees with the shape, overlaps, leaves holes or ends outside
  /// the file, duplicates.
  explicit SafetensorsFile(const std::filesystem::path& file);

  /// In the order of their bytes in the file.
  const std::vector<TensorEntry>& entries() const { return entries_; }

  /// The tensor as stored: its dtype and shape, on the CPU, over copy-on-write file pages.
  /// UserError if not in the file.
  at::Tensor read(const std::string& name) const;

 private:
  struct Mapping;
  void parse_header(std::string_view text);
  void check_ranges(size_t data_bytes);

  std::string file_;
  std::shared_ptr<Mapping> mapping_;
  size_t data_start_ = 0;
  std::vector<TensorEntry> entries_;
  std::vector<size_t> by_name_;  // indices of entries_
};

/// Writes the tensors (any device, made contiguous) atomically, in the given order, with metadata {"format":"pt"},
/// which transformers wants to see. SystemError when the disk refuses; Bug on duplicate names.
FileSum write_safetensors(const std::filesystem::path& file, const NamedTensors& tensors);

}  // namespace roll
