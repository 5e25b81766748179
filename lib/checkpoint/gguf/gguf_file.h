// Reads GGUF files, versions 2 and 3 (little endian), as ggml writes them: metadata, then the list of tensors, then
// their bytes. Everything but the tensors' numbers is checked when the file is opened. Files are mapped into memory. A
// split model (NAME-00001-of-00003.gguf, ...) is read as one file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/gguf/gguf_types.h"
#include "checkpoint/mapped_file.h"

namespace roll::gguf {

/// A value in the metadata. It points into the mapped file, and is valid as long as the File.
struct Value {
  uint32_t type = 0;  // GGUF's type code; for a list, that of its elements
  bool is_list = false;
  uint64_t count = 1;                   // elements of a list; 1 for other values
  std::string_view numbers;             // bytes of the `count` numbers or bools; empty for strings
  std::vector<std::string_view> texts;  // the `count` strings; empty for numbers and bools
};

/// A tensor of the file. It is valid as long as the File.
struct StoredTensor {
  std::string name;
  std::vector<int64_t> shape;  // outermost dimension first, as in PyTorch
  const NumberFormat* format = nullptr;
  const unsigned char* data = nullptr;  // encoded numbers, in the mapped file
  size_t file = 0;                      // index of the tensor's file in File::part_names()
};

/// An open GGUF file, or all parts of a split model. Immutable, so that any thread may use it.
class File {
 public:
  /// Maps the file `path`, and the other parts if it is a part of a split model, and checks all but the numbers. Throws
  /// UserError "file: where: what; remedy" if a file is missing, damaged or in an unknown format.
  explicit File(const std::filesystem::path& path);

  /// Returns the path of the first file, for messages.
  const std::string& name() const { return names_.front(); }
  /// Returns the paths of all files: one, or the parts in order.
  const std::vector<std::string>& part_names() const { return names_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// Returns nullptr if there is no such tensor.
  const StoredTensor* find_tensor(const std::string& name) const;
  /// Returns the metadata of the first file.
  const std::map<std::string, Value, std::less<>>& metadata() const { return metadata_; }

  /// The functions text() to texts() return the value of a key of the metadata; nullopt or nullptr if there is no such
  /// key. They throw UserError if the value has another type.
  std::optional<std::string> text(const std::string& key) const;
  std::optional<double> number(const std::string& key) const;
  std::optional<int64_t> count(const std::string& key) const;  // throws UserError also if negative or above 2^53
  std::optional<bool> flag(const std::string& key) const;
  std::optional<std::vector<double>> numbers(const std::string& key) const;  // elements of a list, or one number
  const std::vector<std::string_view>* texts(const std::string& key) const;
  /// Returns true if there is such a key and its value is a list.
  bool is_list(const std::string& key) const;

  /// Throws UserError "file: key = value: rule", or "file: key: missing; rule" if there is no such key.
  [[noreturn]] void fail(const std::string& key, const std::string& rule) const;

 private:
  class Part;
  const Value* find(const std::string& key) const;
  void add_part(const std::filesystem::path& path);

  std::vector<std::string> names_;
  std::vector<std::unique_ptr<MappedFile>> parts_;
  std::map<std::string, Value, std::less<>> metadata_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string, size_t, std::less<>> by_name_;
};

/// Returns the shortest decimal number that is `value` in float32, as config.json had it: 1e-05, not
/// 9.999999747378752e-06.
double shortest_decimal(float value);

/// Returns the path of the first part if `path` is named like a part of a split model, else `path`.
std::filesystem::path first_part(const std::filesystem::path& path);

}  // namespace roll::gguf
